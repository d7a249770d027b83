package oracle

func certificates(pem ...string) (string, error) { return "", nil }
