import type { Config } from '../config/schema.ts'

/** An extension of the Mentionable system, and whether this gateway really speaks it. */
export interface MentionableExtension {
  readonly uri: string
  readonly description: string
  isOn(config: Pick<Config, 'identity'>): boolean
}

const namespace = 'https://mentionable.dev/ns'

/** All that are known by name (Mentionable, URI scheme). Agent cards list those that are on, and no other. */
export const mentionableExtensions: readonly MentionableExtension[] = [
  {
    uri: `${namespace}/policy/v0.1`,
    description: 'What an agent demands or refuses is a PolicyPart.',
    isOn: () => true,
  },
  {
    uri: `${namespace}/a2a-tool-events/v0.1`,
    description: 'Tools that an agent ran are data parts of the types tool-call, tool-result and tool-error.',
    isOn: () => true,
  },
  {
    uri: `${namespace}/identity/v0.1`,
    description: 'Identity evidence of trusted issuers is verified and given to the agent.',
    isOn: () => false,
  },
  {
    uri: `${namespace}/identity/v0.2`,
    description: 'Verifiable credentials of trusted issuers are verified and given to the agent.',
    isOn: () => false,
  },
  { uri: `${namespace}/oauth-federation/v0.1`, description: 'Authorization servers federate.', isOn: () => false },
]

export const knownExtensionUris: ReadonlySet<string> = new Set(mentionableExtensions.map(({ uri }) => uri))

/** As an agent card has them. */
export function listExtensions(
  config: Pick<Config, 'identity'>,
): readonly { readonly uri: string; readonly description: string }[] {
  return mentionableExtensions.filter(({ isOn }) => isOn(config)).map(({ uri, description }) => ({ uri, description }))
}
