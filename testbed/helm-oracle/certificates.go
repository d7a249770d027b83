package oracle

import (
	"bytes"
	"crypto"
	"crypto/dsa"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// certificates tells what is in PEM blocks: a certificate's fields and whether it fits the key and the authority, or a
// private key's kind and size. Random parts are left out, so that two programs can be compared.
func certificates(blocks ...string) (string, error) {
	var out strings.Builder
	var last *x509.Certificate
	var authority *x509.Certificate
	for _, text := range blocks {
		if strings.HasPrefix(text, "$2a$") {
			fmt.Fprintf(&out, "bcrypt %v\n", bcrypt.CompareHashAndPassword([]byte(text), []byte("secret")))
			continue
		}
		block, rest := pem.Decode([]byte(text))
		if block == nil {
			return "", errors.New("no PEM")
		}
		fmt.Fprintf(&out, "%s, %d bytes follow\n", block.Type, len(rest))
		if block.Type != "CERTIFICATE" {
			if err := describeKey(&out, block, last); err != nil {
				return "", err
			}
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return "", err
		}
		describe(&out, certificate, authority)
		authority, last = certificate, certificate
	}
	return out.String(), nil
}

func describe(out *strings.Builder, c, authority *x509.Certificate) {
	fmt.Fprintf(out, "%v %v %v %v\n", c.Version, c.SignatureAlgorithm, c.PublicKeyAlgorithm, c.SerialNumber.Sign())
	fmt.Fprintf(out, "%x %x\n", c.RawSubject, c.RawIssuer)
	fmt.Fprintf(out, "%v %v\n", c.NotBefore, c.NotAfter)
	for _, extension := range c.Extensions {
		value := extension.Value
		if id := extension.Id.String(); id == "2.5.29.14" || id == "2.5.29.35" {
			value = nil
		}
		fmt.Fprintf(out, "%v %v %x\n", extension.Id, extension.Critical, value)
	}
	if len(c.SubjectKeyId) > 0 {
		var info struct {
			Algorithm asn1.RawValue
			Key       asn1.BitString
		}
		_, err := asn1.Unmarshal(c.RawSubjectPublicKeyInfo, &info)
		sum := sha256.Sum256(info.Key.Bytes)
		fmt.Fprintf(out, "identifier %v %v\n", bytes.Equal(sum[:20], c.SubjectKeyId), err)
	}
	fmt.Fprintf(out, "self %v\n", c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil)
	if authority != nil {
		roots := x509.NewCertPool()
		roots.AddCert(authority)
		_, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		fmt.Fprintf(out, "chain %v, authority key %v\n", err, bytes.Equal(authority.SubjectKeyId, c.AuthorityKeyId))
	}
}

func describeKey(out *strings.Builder, block *pem.Block, certificate *x509.Certificate) error {
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "DSA PRIVATE KEY":
		var numbers struct {
			Version       int
			P, Q, G, Y, X *big.Int
		}
		_, err = asn1.Unmarshal(block.Bytes, &numbers)
		parameters := dsa.Parameters{P: numbers.P, Q: numbers.Q, G: numbers.G}
		fits := new(big.Int).Exp(parameters.G, numbers.X, parameters.P).Cmp(numbers.Y) == 0
		order := new(big.Int).Exp(parameters.G, parameters.Q, parameters.P).Cmp(big.NewInt(1)) == 0
		fmt.Fprintf(out, "dsa %d %d %v %v\n", numbers.P.BitLen(), numbers.Q.BitLen(), fits, order)
		return err
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		fmt.Fprintf(out, "rsa %d %d %v\n", key.N.BitLen(), key.E, key.Validate())
	case *ecdsa.PrivateKey:
		fmt.Fprintf(out, "ec %v\n", key.Params().Name)
	case ed25519.PrivateKey:
		fmt.Fprintf(out, "ed25519 %d\n", len(key))
	}
	if signer, ok := key.(crypto.Signer); ok && certificate != nil {
		public := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
		fmt.Fprintf(out, "fits %v\n", public.Equal(certificate.PublicKey))
	}
	return err
}
