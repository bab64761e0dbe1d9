export type { JWK } from 'jose'
export type { AuthScheme, Challenger, Credential, Principal, ScopedCaller, ScopeTable } from './credential.ts'
export {
  admitCredential,
  allowsAny,
  CredentialRejection,
  checkScope,
  createChallenger,
  defaultScopes,
  listTokenSchemes,
  ownerOf,
  ProofRejection,
  readCredential,
  readGrant,
} from './credential.ts'
export { issuerRuleShape, joinTokenRules, tokenAlgorithms, tokenRuleShape } from './issuer-rules.ts'
export { createReplayMemory } from './single-uses.ts'
export type { RequestHead, TokenVerifierDeps } from './token-verifier.ts'
export { createTokenVerifier } from './token-verifier.ts'
export type { IssuerKeys, IssuerTrust, VerifiedToken } from './verify-token.ts'
export {
  createIssuerKeys,
  createSecretKeys,
  issuerKeyTimes,
  loadJose,
  noteCaller,
  readClaimedSubject,
} from './verify-token.ts'
