// Lists the Mentionable extensions that an agent card announces.
import type { Config } from '../config/schema.ts'

/** An extension of the Mentionable system. */
interface MentionableExtension {
  readonly uri: string
  readonly description: string
  /** Returns true if this gateway supports the extension. */
  isSupported(config: ExtensionConfig): boolean
}

interface ExtensionConfig {
  readonly identity: Pick<Config['identity'], 'trusted_issuers'>
}

const isDid = (issuer: string) => issuer.startsWith('did:')

/** Returns true if the gateway trusts an issuer of v0.1, which is a host. */
const trustsHost = ({ identity }: ExtensionConfig) => identity.trusted_issuers.some(({ issuer }) => !isDid(issuer))

/** Returns true if the gateway trusts an issuer of v0.2, which is a DID. */
const trustsDid = ({ identity }: ExtensionConfig) => identity.trusted_issuers.some(({ issuer }) => isDid(issuer))

const namespace = 'https://mentionable.dev/ns'

/** All extensions with a name (Mentionable, URI scheme). Agent cards list only those that the gateway supports. */
export const mentionableExtensions: readonly MentionableExtension[] = [
  {
    uri: `${namespace}/policy/v0.1`,
    description: 'What an agent requires or refuses is a PolicyPart.',
    isSupported: () => true,
  },
  {
    uri: `${namespace}/a2a-tool-events/v0.1`,
    description: 'Tools that an agent ran are data parts of the types tool-call, tool-result and tool-error.',
    isSupported: () => true,
  },
  {
    uri: `${namespace}/identity/v0.1`,
    description: 'Identity evidence of trusted issuers is verified and given to the agent.',
    isSupported: trustsHost,
  },
  {
    uri: `${namespace}/identity/v0.2`,
    description: 'Verifiable credentials of trusted issuers are verified and given to the agent.',
    isSupported: trustsDid,
  },
  {
    uri: `${namespace}/oauth-federation/v0.1`,
    description: 'Authorization servers federate.',
    isSupported: () => false,
  },
]

export const knownExtensionUris: ReadonlySet<string> = new Set(mentionableExtensions.map(({ uri }) => uri))

/** Returns the extensions for an agent card. */
export function listGatewayExtensions(
  config: ExtensionConfig,
): readonly { readonly uri: string; readonly description: string }[] {
  return mentionableExtensions
    .filter(({ isSupported }) => isSupported(config))
    .map(({ uri, description }) => ({ uri, description }))
}
