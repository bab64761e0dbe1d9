import type { IdentityConfig } from './config.ts'

const versions = [
  {
    uri: 'https://mentionable.dev/ns/identity/v0.1',
    description: 'Identity evidence of trusted issuers is verified and given to the agent.',
    isOf: (issuer: string) => !issuer.startsWith('did:'),
  },
  {
    uri: 'https://mentionable.dev/ns/identity/v0.2',
    description: 'Verifiable credentials of trusted issuers are verified and given to the agent.',
    isOf: (issuer: string) => issuer.startsWith('did:'),
  },
] as const

/** The versions of trusted issuers. Without one, the extension is not active. */
export function listIdentityExtensions({ trusted_issuers }: Pick<IdentityConfig, 'trusted_issuers'>) {
  return versions
    .filter(({ isOf }) => trusted_issuers.some(({ issuer }) => isOf(issuer)))
    .map(({ uri, description }) => ({ uri, description }))
}
