// Writes the JSON Schemas of the configuration, messages and responses.
import { agentConfigSchema, agentKinds } from '@postern/agents'
import { z } from 'zod'
import { configSchema } from '../../../apps/gateway/src/config/schema.ts'
import { common, findConfigComment, kindSources } from '../configuration.ts'
import type { Schema } from './bounds.ts'
import { documentedSchemas } from './documented.ts'
import type { KeyComments } from './key-comments.ts'

/** The members of JSON Schema that zod writes. */
export interface JsonSchemaNode {
  type?: string | string[]
  format?: string
  description?: string
  minimum?: number
  maximum?: number
  properties?: Record<string, JsonSchemaNode>
  additionalProperties?: JsonSchemaNode | boolean
  items?: JsonSchemaNode
  anyOf?: JsonSchemaNode[]
  oneOf?: JsonSchemaNode[]
  allOf?: JsonSchemaNode[]
  if?: JsonSchemaNode
  then?: JsonSchemaNode
  required?: string[]
  pattern?: string
  enum?: unknown[]
  const?: unknown
  $ref?: string
  $defs?: Record<string, JsonSchemaNode>
  default?: unknown
}

type FindComment = (path: readonly string[]) => string

/** Writes apps/gateway/schemas/config.json: the configuration file, before defaults and references are filled in. */
export function describeConfigSchema(comments: Pick<KeyComments, 'findComment'>): string {
  const schema = toJsonSchema(configSchema, 'input')
  // The keys of an agent depend on its kind, so `describeAgent` adds them below.
  addDescriptions(schema, path => findConfigComment(comments, path))
  const agents = schema.properties?.agents
  if (!agents) throw new Error('Cannot describe the configuration: it has no agents')
  const kinds = agentKinds.map((kind, index) => withOwnDefinitions(describeKind(kind, comments), `kind${index}`))
  agents.additionalProperties = describeAgent(kinds.map(({ node }) => node))
  admitReferences(schema)
  const definitions = Object.assign({}, schema.$defs, ...kinds.map(({ definitions }) => definitions))
  return toText({ title: 'Configuration of Postern', ...schema, $defs: { ...definitions, reference } })
}

/** Writes apps/gateway/schemas/message.json: the message that an agent gets. */
export function describeMessageSchema(comments: Pick<KeyComments, 'findComment'>): string {
  return describeMessageType('NormalizedMessage', comments)
}

/** Writes apps/gateway/schemas/response.json: the response that the gateway builds from an agent's answer. */
export function describeResponseSchema(comments: Pick<KeyComments, 'findComment'>): string {
  return describeMessageType('NormalizedResponse', comments)
}

function describeMessageType(
  title: 'NormalizedMessage' | 'NormalizedResponse',
  comments: Pick<KeyComments, 'findComment'>,
): string {
  const { schema, source } = documentedSchemas[title]
  const node = toJsonSchema(schema, 'output')
  addDescriptions(node, path => comments.findComment(source, path))
  return toText({ title, ...node })
}

/** Selects an agent's keys by `use`, so that an editor reports the faults of that kind only. */
function describeAgent(kinds: readonly JsonSchemaNode[]): JsonSchemaNode {
  const patterns = kinds.map(({ properties }) => properties?.use?.pattern ?? '')
  const names = patterns.flatMap(pattern => /^\^([\w:-]+)\$$/.exec(pattern)?.[1] ?? [])
  const otherPatterns = patterns.filter(pattern => !names.includes(pattern.slice(1, -1)))
  const description = kinds.find(({ properties }) => properties?.use)?.properties?.use?.description
  return {
    type: 'object',
    required: ['use'],
    properties: {
      use: {
        ...(description && { description }),
        anyOf: [{ enum: names }, ...otherPatterns.map(pattern => ({ pattern }))],
      },
    },
    allOf: kinds.map((node, index) => ({
      if: { required: ['use'], properties: { use: { pattern: patterns[index] ?? '' } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: node,
    })),
  }
}

function toJsonSchema(schema: Schema, io: 'input' | 'output'): JsonSchemaNode {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // JSON Schema cannot express our own checks, so it may allow more than the configuration does, but never less.
      if (zodSchema === (agentConfigSchema as unknown)) jsonSchema.type = 'object'
    },
  }) as JsonSchemaNode
}

function describeKind(
  { usePattern, schema }: (typeof agentKinds)[number],
  comments: Pick<KeyComments, 'findComment'>,
): JsonSchemaNode {
  const node = toJsonSchema(schema, 'input')
  delete (node as { $schema?: string }).$schema
  const schemaName = kindSources.find(([use]) => usePattern.test(use))?.[1]
  addDescriptions(
    node,
    path => (schemaName && comments.findComment(schemaName, path)) || comments.findComment(common, path),
  )
  const use = node.properties?.use
  if (use) use.pattern = usePattern.source
  return node
}

interface DefinedNode {
  readonly node: JsonSchemaNode
  readonly definitions: Readonly<Record<string, JsonSchemaNode>>
}

/** Takes the definitions out of a schema that becomes part of another, and prefixes their names so that none repeats. */
function withOwnDefinitions(node: JsonSchemaNode, prefix: string): DefinedNode {
  const renamed = JSON.stringify(node).replaceAll('"#/$defs/', `"#/$defs/${prefix}`)
  const { $defs = {}, ...rootSchema } = JSON.parse(renamed) as JsonSchemaNode
  return {
    node: rootSchema,
    definitions: Object.fromEntries(
      Object.entries($defs).map(([name, definition]) => [`${prefix}${name}`, definition]),
    ),
  }
}

/** Gives every key the first sentence of its doc comment. */
function addDescriptions(node: JsonSchemaNode, findComment: FindComment, path: readonly string[] = []): void {
  for (const [name, inner] of Object.entries(node.properties ?? {})) {
    const description = findComment([...path, name])
    if (description !== '') inner.description = description
    addDescriptions(inner, findComment, [...path, name])
  }
  if (typeof node.additionalProperties === 'object')
    addDescriptions(node.additionalProperties, findComment, [...path, '*'])
  if (node.items) addDescriptions(node.items, findComment, [...path, '[]'])
  for (const alternative of listAlternatives(node)) addDescriptions(alternative, findComment, path)
}

const listAlternatives = ({ anyOf = [], oneOf = [], allOf = [] }: JsonSchemaNode) => [...anyOf, ...oneOf, ...allOf]

/** The schema of a reference to an environment variable or a file. */
const reference: JsonSchemaNode = {
  description: 'The value stands in an environment variable, or in a file beside the configuration.',
  oneOf: ['env', 'file'].map(name => ({
    type: 'object',
    properties: { [name]: { type: 'string' } },
    required: [name],
    additionalProperties: false,
  })),
}

/** Keys that determine which other keys exist, so they cannot be references. */
const fixedKeys: ReadonlySet<string> = new Set(['$schema', 'use'])

/** Allows a reference in place of any free text of the configuration. */
function admitReferences(node: JsonSchemaNode): void {
  for (const [name, inner] of Object.entries(node.properties ?? {})) {
    if (node.properties && !fixedKeys.has(name)) node.properties[name] = orReference(inner)
  }
  if (typeof node.additionalProperties === 'object') node.additionalProperties = orReference(node.additionalProperties)
  if (node.items) node.items = orReference(node.items)
  for (const alternative of listAlternatives(node)) admitReferences(alternative.then ?? alternative)
}

function orReference(node: JsonSchemaNode): JsonSchemaNode {
  if (node.type !== 'string' || node.enum !== undefined || node.const !== undefined) {
    admitReferences(node)
    return node
  }
  const { description, default: fallback, ...keywords } = node
  return {
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    anyOf: [keywords, { $ref: '#/$defs/reference' }],
  }
}

function toText(schema: object): string {
  return `${JSON.stringify(schema, undefined, 2)}\n`
}
