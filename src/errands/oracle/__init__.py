"""The exact optimum of finite tasks, and the certificate that compares a policy with it."""
