// Lets oracle_test.go declare a function without a body.
