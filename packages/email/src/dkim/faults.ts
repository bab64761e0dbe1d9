/** Why a signature does not verify. The words are shown to operators, beside our own verdict. */
export type DkimFault =
  // Of the field, found before the key is asked for (RFC 6376 §6.1.1).
  | 'signature syntax error'
  | 'signature missing required tag'
  | 'incompatible version'
  | 'unknown algorithm'
  | 'unknown canonicalization'
  | 'unsupported query method'
  | 'domain mismatch'
  | 'invalid expiration'
  | 'From field not signed'
  // Of what RFC 8301 §3 forbids.
  | 'weak-algorithm'
  | 'weak-key'
  // Of the key record (RFC 6376 §6.1.2).
  | 'no key'
  | 'invalid public key'
  | 'unknown key version'
  | 'unknown key type'
  | 'key not for email'
  | 'inappropriate hash algorithm'
  | 'inappropriate key algorithm'
  | 'DNS failure'
  // Of the computation (RFC 6376 §6.1.3).
  | 'body hash did not verify'
  | 'bad signature'
  | 'expired'
