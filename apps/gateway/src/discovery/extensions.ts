import { Hono } from 'hono'
import type { Config } from '../config/schema.ts'

/** An extension of the Mentionable system, and whether this gateway really speaks it. */
interface MentionableExtension {
  readonly uri: string
  readonly description: string
  isOn(config: Switches): boolean
}

interface Switches {
  readonly identity: Pick<Config['identity'], 'trusted_issuers'>
}

/** A v0.2 issuer is a DID; one of v0.1 is a host. */
const trustsOne = ({ identity }: Switches, isDid: boolean) =>
  identity.trusted_issuers.some(({ issuer }) => issuer.startsWith('did:') === isDid)

const namespace = 'https://mentionable.dev/ns'

/** All that are known by name (Mentionable, URI scheme). Agent cards list those that are on, and no other. */
export const mentionableExtensions: readonly MentionableExtension[] = [
  {
    uri: `${namespace}/policy/v0.1`,
    description: 'What an agent requires or refuses is a PolicyPart.',
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
    isOn: config => trustsOne(config, false),
  },
  {
    uri: `${namespace}/identity/v0.2`,
    description: 'Verifiable credentials of trusted issuers are verified and given to the agent.',
    isOn: config => trustsOne(config, true),
  },
  { uri: `${namespace}/oauth-federation/v0.1`, description: 'Authorization servers federate.', isOn: () => false },
]

export const knownExtensionUris: ReadonlySet<string> = new Set(mentionableExtensions.map(({ uri }) => uri))

/** As an agent card has them. */
export function listGatewayExtensions(
  config: Switches,
): readonly { readonly uri: string; readonly description: string }[] {
  return mentionableExtensions.filter(({ isOn }) => isOn(config)).map(({ uri, description }) => ({ uri, description }))
}

/** JSON Schemas that the gateway serves, each read when it is first asked for. */
const schemas: Readonly<Record<string, () => Promise<{ readonly default: object }>>> = {
  'config.json': () => import('../../schemas/config.json', { with: { type: 'json' } }),
  'message.json': () => import('../../schemas/message.json', { with: { type: 'json' } }),
  'response.json': () => import('../../schemas/response.json', { with: { type: 'json' } }),
}

/** The JSON Schemas of the configuration file, of messages and of responses. */
export function createSchemaRoutes(): Hono {
  return new Hono().get('/schemas/:name', async context => {
    const name = context.req.param('name')
    const load = Object.hasOwn(schemas, name) ? schemas[name] : undefined
    if (!load) return context.notFound()
    return context.body(JSON.stringify((await load()).default), 200, {
      'content-type': 'application/schema+json',
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=3600',
    })
  })
}
