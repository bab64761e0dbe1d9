export type { JWK } from 'jose'
export { noteCaller, readClaimedSubject } from '../request.ts'
export type { AuthScheme, Challenger } from './challenges.ts'
export { CredentialRejection, createChallenger, listTokenSchemes } from './challenges.ts'
export type { Credential, RequestHead, ScopedCaller, ScopeTable, TokenVerifierDeps } from './credential.ts'
export {
  admitCredential,
  allowsAny,
  checkScope,
  createTokenVerifier,
  defaultScopes,
  readCredential,
  readGrant,
} from './credential.ts'
export { issuerRuleShape, joinTokenRules, tokenAlgorithms, tokenRuleShape } from './issuer-rules.ts'
export { createReplayMemory } from './single-uses.ts'
export type { IssuerKeys, IssuerTrust, Principal, VerifiedToken } from './verify-token.ts'
export { createIssuerKeys, createSecretKeys, issuerKeyTimes, loadJose, ownerOf } from './verify-token.ts'
