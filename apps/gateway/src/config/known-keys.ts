// Lists the keys that the configuration may have at a path, to suggest the right one for a misspelled key.
import { agentKinds } from '@postern/agents'
import { isJsonObject } from '@postern/message'
import { z } from 'zod'
import { readAt } from './config-tree.ts'
import { configSchema } from './schema.ts'

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
  readonly items?: SchemaNode
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, SchemaNode>>
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
}

/** Returns the keys that the configuration may have at `path`; for an agent, those of the kind that `tree` names. */
export function listKnownKeys(path: readonly PropertyKey[], tree: unknown): readonly string[] {
  const [first, name, ...agentPath] = path.map(String)
  const agent = first === 'agents' && name !== undefined ? readAt(tree, ['agents', name]) : undefined
  const use = isJsonObject(agent) ? agent.use : undefined
  const kind = typeof use === 'string' ? agentKinds.find(({ usePattern }) => usePattern.test(use)) : undefined
  const schema = kind?.schema ?? configSchema
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode
  let nodes = listForms([root], root)
  for (const step of kind ? agentPath : path.map(String)) {
    const innerNodes = nodes.flatMap(({ properties, additionalProperties, items }) => [
      properties?.[step] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined),
      items,
    ])
    nodes = listForms(
      innerNodes.filter(node => node !== undefined),
      root,
    )
  }
  return nodes.flatMap(({ properties = {} }) => Object.keys(properties))
}

/** Resolves references and alternatives. A schema that refers to itself does so below a key, so this ends. */
function listForms(nodes: readonly SchemaNode[], root: SchemaNode): readonly SchemaNode[] {
  return nodes.flatMap(node => {
    const referencedNode = node.$ref === undefined ? undefined : root.$defs?.[node.$ref.split('/').at(-1) ?? '']
    const alternatives = [referencedNode, ...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])]
    return [
      node,
      ...listForms(
        alternatives.filter(alternative => alternative !== undefined),
        root,
      ),
    ]
  })
}
