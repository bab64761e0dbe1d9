// Writes docs/reference/configuration.md from the configuration schemas.
import { agentKinds } from '@postern/agents'
import { channelModules } from '../../apps/gateway/src/channels.ts'
import { productionLimits, productionStorage } from '../../apps/gateway/src/config/own-schema.ts'
import { configSchema } from '../../apps/gateway/src/config/schema.ts'
import { formatPage } from './markdown.ts'
import type { Schema } from './schema/bounds.ts'
import type { KeyComments, SchemaName } from './schema/key-comments.ts'
import type { SchemaRow } from './schema/rows.ts'
import { formatSchemaTable, listSchemaRows } from './schema/rows.ts'

const configSource: SchemaName = { file: 'apps/gateway/src/config/own-schema.ts', name: 'ownSchema' }
export const common: SchemaName = { file: 'packages/agents/src/kind/agent-kind.ts', name: 'commonAgentSchema' }

/** Finds the comment of a key in the source, which may belong to a channel. */
export function findConfigComment(comments: Pick<KeyComments, 'findComment'>, path: readonly string[]): string {
  const [name = '', ...innerPath] = path
  const source = innerPath.length > 0 ? findConfigSource(name) : configSource
  return comments.findComment(source, source === configSource ? path : innerPath)
}

/** The name of a channel, and the member of the configuration in which its own member stands, if it is not at the top. */
interface ConfiguredChannel {
  readonly descriptor: { readonly name: string }
  readonly configSection?: string | undefined
}

/**
 * Finds the source of a member of the configuration. A channel declares its member in `config.ts` of its package, as a constant with the
 * channel's name. Channels of one section share a package with the name of the section.
 */
export function findConfigSource(member: string, channels: readonly ConfiguredChannel[] = channelModules): SchemaName {
  if (channels.every(({ descriptor, configSection = descriptor.name }) => configSection !== member)) return configSource
  return { file: `packages/${member}/src/config.ts`, name: `${member}ConfigSchema` }
}

/** The kinds of agents that have their own keys, with the source of these keys. */
export const kindSources: readonly (readonly [use: string, source: SchemaName])[] = [
  ['./agents/desk.ts', { file: 'packages/agents/src/module/kind.ts', name: 'moduleAgentSchema' }],
  ['webhook', { file: 'packages/agents/src/webhook/kind.ts', name: 'webhookConfigSchema' }],
  ['openai', { file: 'packages/agents/src/openai/config.ts', name: 'openaiAgentSchema' }],
  ['swarm', { file: 'packages/agents/src/swarm/config/config.ts', name: 'swarmAgentSchema' }],
  ['a2a', { file: 'packages/agents/src/a2a/kind.ts', name: 'a2aAgentSchema' }],
  ['ag-ui', { file: 'packages/agents/src/agui/kind.ts', name: 'aguiAgentSchema' }],
]

const intro = `
Every key of the configuration file, with its type, its default and its bounds. [Configure a gateway](../guides/configure.md) explains how to use them.

- The file is \`postern.config.ts\`, \`.js\` or \`.json\` in the working directory. \`--config\` or \`POSTERN_CONFIG\` names another one.
- A key that is not listed here stops the start. The error names the key, the cause and the fix.
- Each plain value has an environment variable, which overrides the file: \`POSTERN_\` and its path in capitals, such as \`POSTERN_LISTEN_PORT\`. Values in lists and in \`agents\` have none.
- Any value may be \`{ "env": "NAME" }\` or \`{ "file": "path" }\`. Secrets belong there; \`config print\` masks them.
- In a key, \`*\` stands for a name of your own and \`[]\` for an entry of a list.
- Dev mode fills in what the file leaves open, and never overrides what the file sets.
`

const useIntro = `
Each entry of \`agents\` has the keys of this table, and those of its kind. \`use\` says which kind it is: a path such as \`./agents/desk.ts\`, \`builtin:echo\`, \`builtin:help\`,
\`webhook\`, \`openai\`, \`swarm\`, \`a2a\` or \`ag-ui\`. [The guides](../guides/README.md) explain them.
`

const limitNote = ' outside of dev mode'

/** Writes docs/reference/configuration.md. */
export function describeConfiguration(comments: Pick<KeyComments, 'findComment'>): string {
  const rows = listSchemaRows(configSchema)
  const groups = [...new Set(rows.filter(({ path }) => path.length > 1).map(({ path: [name = ''] }) => name))]
  const isTopLevel = ({ path: [name = '', ...innerPath] }: SchemaRow) =>
    innerPath.length === 0 && (name === 'agents' || !groups.includes(name))
  const defaults = Object.fromEntries(
    Object.entries({ ...productionLimits, ...listStorageDefaults() }).map(([name, value]) => [
      `limits.${name}`,
      `${value}${limitNote}`,
    ]),
  )
  const table = (filter: (row: SchemaRow) => boolean, source = configSource) =>
    formatSchemaTable(configSchema, {
      comments: { findComment: (_, path) => findConfigComment(comments, path) },
      source,
      filter,
      defaults,
    })
  return formatPage('Configuration reference', [
    intro,
    '## The gateway',
    table(isTopLevel),
    ...groups.flatMap(name =>
      name === 'agents'
        ? describeAgents(comments)
        : [`## \`${name}\``, table(({ path }) => path[0] === name, findConfigSource(name))],
    ),
  ])
}

function listStorageDefaults(): Readonly<Record<string, number>> {
  const { stored, free_bytes } = productionStorage
  const ofSenders = Object.entries(stored).map(([name, value]) => [`stored.${name}`, value])
  return { ...Object.fromEntries(ofSenders), free_bytes }
}

function describeAgents(comments: Pick<KeyComments, 'findComment'>): readonly string[] {
  const schema = findSchema('builtin:echo')
  const sharedPaths = new Set(listSchemaRows(schema).map(({ path }) => path.join('.')))
  return [
    '## `agents.*`',
    useIntro,
    formatSchemaTable(schema, { comments, source: common }),
    ...kindSources.flatMap(([use, schemaName]) => [
      `### \`"use": "${use}"\``,
      formatSchemaTable(findSchema(use), {
        comments,
        source: schemaName,
        filter: ({ path }) => !sharedPaths.has(path.join('.')),
      }),
    ]),
  ]
}

function findSchema(use: string): Schema {
  const kind = agentKinds.find(({ usePattern }) => usePattern.test(use))
  if (!kind) throw new Error(`Cannot describe agents of the kind "${use}": there is none`)
  return kind.schema
}
