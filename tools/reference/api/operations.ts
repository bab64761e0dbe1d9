// Describes each group of operations as a page, from the operator API's OpenAPI document.
import { formatInlineCode, formatMarkdownTable, formatPage } from '../markdown.ts'
import type { JsonSchemaNode } from '../schema/json-schemas.ts'

/** The members of an OpenAPI document that the pages need. */
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchemaNode>> }
}

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly description?: string
    readonly schema: JsonSchemaNode
  }[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
}

type Content = Readonly<Record<string, { readonly schema?: JsonSchemaNode }>>

interface OperationGroup {
  readonly title: string
  readonly tags: readonly string[]
}

/** The page for each group of operations, by tag. */
const groups: Readonly<Record<string, OperationGroup>> = {
  messages: {
    title: 'API: messages and deliveries',
    tags: ['messages', 'conversations', 'deliveries', 'refusals', 'why', 'outcomes', 'events', 'replay', 'transcript'],
  },
  people: {
    title: 'API: people and requirements',
    tags: ['requirements', 'questions', 'people', 'owners', 'relations', 'follow-requests', 'suppressions'],
  },
  agents: { title: 'API: agents', tags: ['agents', 'resolve', 'probes'] },
  gateway: {
    title: 'API: the gateway',
    tags: [
      'status',
      'settings',
      'doctor',
      'hosts',
      'rates',
      'keys',
      'proxies',
      'vacuum',
      'prune',
      'simulation',
      'openapi.json',
    ],
  },
}

/** Returns the text of each page by its path. `openApiText` is the OpenAPI document. */
export function describeApi(openApiText: string): ReadonlyMap<string, string> {
  const document = JSON.parse(openApiText) as OpenApi
  return new Map([
    ...Object.entries(groups).map(
      ([name, group]) => [`docs/reference/api-${name}.md`, describeGroup(document, group)] as const,
    ),
    ['docs/reference/api-schemas.md', describeSchemas(document)],
  ])
}

const introduction = `
Operations of the operator's API. Each path begins with \`/operator/api\`, and each request carries \`Authorization: Bearer <operator token>\`.

[openapi.json](openapi.json) has the same for programs. [Schemas](api-schemas.md) has the objects that several operations share.
`

function describeGroup(document: OpenApi, { title, tags }: OperationGroup): string {
  const groupedTags = Object.values(groups).flatMap(({ tags }) => tags)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation, tag: operation.tags[0] ?? '' })),
  )
  const ungroupedOperation = operations.find(({ tag }) => !groupedTags.includes(tag))
  if (ungroupedOperation)
    throw new Error(
      `Cannot describe ${ungroupedOperation.path}: put its tag "${ungroupedOperation.tag}" into a group of tools/reference/api`,
    )
  const tagOperations = tags.flatMap(tag => operations.filter(operation => operation.tag === tag))
  return formatPage(title, [introduction, ...tagOperations.flatMap(describeOperation)])
}

interface ListedOperation {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

function describeOperation({ path, method, operation }: ListedOperation): readonly string[] {
  const { summary, description, parameters, requestBody, responses } = operation
  const { 200: success, ...errors } = responses
  return [
    `## \`${method.toUpperCase()} ${path}\``,
    summary,
    ...(description ? [description] : []),
    ...(parameters.length > 0
      ? [
          formatMarkdownTable(
            ['parameter', 'value', 'meaning'],
            parameters.map(({ name, in: location, required, schema, description: meaning = '' }) => [
              formatInlineCode(name),
              [location, ...(required ? ['required'] : []), ...describeValue(schema)].join('; '),
              meaning,
            ]),
          ),
        ]
      : []),
    ...describeContent('Body', requestBody?.content),
    ...describeContent('Answer', success?.content),
    `Errors: ${Object.keys(errors).join(', ')}.`,
  ]
}

function describeContent(title: string, content: Content | undefined): readonly string[] {
  return Object.entries(content ?? {}).flatMap(([mediaType, { schema }]) => {
    const heading = `**${title}**, \`${mediaType}\`${schema && !schema.properties ? `: ${describeType(schema)}` : ''}`
    return [heading, ...(schema?.properties ? [describeMembers(schema)] : [])]
  })
}

function describeSchemas({ components }: OpenApi): string {
  const schemas = Object.entries(components.schemas).sort(([left], [right]) => (left < right ? -1 : 1))
  return formatPage('API: schemas', [
    'Objects that several operations of the API share. [Message](message.md) and [Response](response.md) explain the first two in detail.',
    ...schemas.flatMap(([name, schema]) => [
      `## ${name}`,
      ...(schema.description ? [schema.description] : []),
      schema.properties ? describeMembers(schema) : `It is ${describeType(schema)}.`,
    ]),
  ])
}

function describeMembers({ properties = {}, required = [] }: JsonSchemaNode): string {
  return formatMarkdownTable(
    ['member', 'value', 'meaning'],
    listMembers(properties, required).map(({ name, isRequired, node }) => [
      formatInlineCode(name),
      [...describeValue(node), ...(isRequired ? [] : ['optional'])].join('; '),
      node.description ?? '',
    ]),
  )
}

interface ListedMember {
  readonly name: string
  readonly isRequired: boolean
  readonly node: JsonSchemaNode
}

/** Lists the members of a schema. The name of a nested member begins with those of its parents. */
function listMembers(
  properties: Readonly<Record<string, JsonSchemaNode>>,
  required: readonly string[],
  prefix = '',
): readonly ListedMember[] {
  return Object.entries(properties).flatMap(([key, node]) => {
    const name = `${prefix}${key}`
    const inner = node.items?.properties ? node.items : node
    const step = inner === node ? '.' : '[].'
    return [
      { name, isRequired: required.includes(key), node },
      ...listMembers(inner.properties ?? {}, inner.required ?? [], `${name}${step}`),
    ]
  })
}

function describeValue(node: JsonSchemaNode): readonly string[] {
  const { default: fallback, minimum, maximum } = node
  const isLarge = (value: number) => Math.abs(value) >= Number.MAX_SAFE_INTEGER
  return [
    describeType(node),
    ...(minimum === undefined || isLarge(minimum) ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined || isLarge(maximum) ? [] : [`at most ${maximum}`]),
    ...(fallback === undefined ? [] : [`default \`${JSON.stringify(fallback)}\``]),
  ]
}

function describeType(node: JsonSchemaNode): string {
  const { $ref, enum: values, const: value, anyOf, oneOf, allOf, items, type, format, properties } = node
  if ($ref) return `[${nameOf($ref)}](${'api-schemas.md'}#${nameOf($ref).toLowerCase()})`
  if (value !== undefined) return `\`${JSON.stringify(value)}\``
  if (values) return values.map(item => `\`${JSON.stringify(item)}\``).join(values.length > 3 ? ', ' : ' or ')
  const alternatives = anyOf ?? oneOf ?? allOf
  if (alternatives) return [...new Set(alternatives.map(describeType))].join(' or ')
  if (type === 'array') return `list of ${items ? describeType(items) : 'any JSON'}`
  if (format === 'date-time') return 'time, ISO 8601'
  if (type === 'object' || properties) return 'object'
  return type === undefined ? 'any JSON' : [type].flat().join(' or ')
}

function nameOf(reference: string): string {
  return reference.split('/').at(-1) ?? ''
}
