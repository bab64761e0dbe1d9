import { agentKinds } from '@postern/agents'
import { productionLimits } from '../../apps/gateway/src/config/own-schema.ts'
import { configSchema } from '../../apps/gateway/src/config/schema.ts'
import { formatPage } from './markdown.ts'
import type { Schema } from './schema/bounds.ts'
import type { KeyComments, SchemaName } from './schema/key-comments.ts'
import type { SchemaRow } from './schema/rows.ts'
import { formatSchemaTable, listSchemaRows } from './schema/rows.ts'

const configSource: SchemaName = { file: 'apps/gateway/src/config/own-schema.ts', name: 'ownSchema' }
/** Where each channel writes its member. */
const channelSources: Readonly<Record<string, SchemaName>> = {
  activitypub: { file: 'packages/activitypub/src/config.ts', name: 'activityPubConfigSchema' },
  a2a: { file: 'packages/a2a/src/config.ts', name: 'a2aConfigSchema' },
  email: { file: 'packages/email/src/config.ts', name: 'emailConfigSchema' },
  web: { file: 'packages/web/src/config.ts', name: 'webConfigSchema' },
}
export const common: SchemaName = { file: 'packages/agents/src/kind/agent-kind.ts', name: 'commonAgentSchema' }

/** What the source says of a key, which may be a channel's. */
export function findConfigComment(comments: Pick<KeyComments, 'find'>, path: readonly string[]): string {
  const [name = '', ...rest] = path
  const channel = channelSources[name]
  return channel && rest.length > 0 ? comments.find(channel, rest) : comments.find(configSource, path)
}

/** The kinds of agents that have keys of their own, and where these are written. */
export const kindSources: readonly (readonly [use: string, source: SchemaName])[] = [
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

/** docs/reference/configuration.md */
export function describeConfiguration(comments: Pick<KeyComments, 'find'>): string {
  const rows = listSchemaRows(configSchema)
  const groups = [...new Set(rows.filter(({ path }) => path.length > 1).map(({ path: [name = ''] }) => name))]
  const isTopLevel = ({ path: [name = '', ...rest] }: SchemaRow) =>
    rest.length === 0 && (name === 'agents' || !groups.includes(name))
  const defaults = Object.fromEntries(
    Object.entries(productionLimits).map(([name, value]) => [`limits.${name}`, `${value}${limitNote}`]),
  )
  const table = (filter: (row: SchemaRow) => boolean) =>
    formatSchemaTable(configSchema, {
      comments: { find: (_, path) => findConfigComment(comments, path) },
      source: configSource,
      filter,
      defaults,
    })
  return formatPage('Configuration reference', [
    intro,
    '## The gateway',
    table(isTopLevel),
    ...groups.flatMap(name =>
      name === 'agents' ? describeAgents(comments) : [`## \`${name}\``, table(({ path }) => path[0] === name)],
    ),
  ])
}

function describeAgents(comments: Pick<KeyComments, 'find'>): readonly string[] {
  const schema = findSchema('builtin:echo')
  const shared = new Set(listSchemaRows(schema).map(({ path }) => path.join('.')))
  return [
    '## `agents.*`',
    useIntro,
    formatSchemaTable(schema, { comments, source: common }),
    ...kindSources.flatMap(([use, of]) => [
      `### \`"use": "${use}"\``,
      formatSchemaTable(findSchema(use), { comments, source: of, filter: ({ path }) => !shared.has(path.join('.')) }),
    ]),
  ]
}

function findSchema(use: string): Schema {
  const kind = agentKinds.find(({ uses }) => uses.test(use))
  if (!kind) throw new Error(`Cannot describe agents of the kind "${use}": there is none`)
  return kind.schema
}
