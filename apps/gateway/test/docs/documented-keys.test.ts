import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentKinds } from '@postern/agents'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { configSchema } from '../../src/config/schema.ts'

/** The part of JSON Schema that `z.toJSONSchema` writes for the configuration. */
type Schema = {
  readonly properties?: Readonly<Record<string, Schema>> | undefined
  readonly additionalProperties?: Schema | boolean | undefined
  readonly items?: Schema | undefined
  readonly anyOf?: readonly Schema[] | undefined
  readonly oneOf?: readonly Schema[] | undefined
  readonly allOf?: readonly Schema[] | undefined
}

type Key = { readonly path: string; readonly name: string; readonly parent: string | undefined }

const docs = join(import.meta.dirname, '../../../../docs')

const sections = globSync('**/*.md', { cwd: docs, exclude: ['decisions', 'conformance', 'node_modules', '.vitepress'] })
  .flatMap(name => readFileSync(join(docs, name), 'utf8').split(/^#+ /m))
  .map(listCodeWords)

/** Returns the words of a section that are in a code block or between backticks. */
function listCodeWords(section: string): ReadonlySet<string> {
  const code = section.match(/^```[\s\S]*?^```|`[^`\n]+`/gm) ?? []
  return new Set(code.join(' ').match(/[$\w]+/g))
}

function listKeys(schema: Schema, path: string, parent: string | undefined): readonly Key[] {
  const ownKeys = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const key = path === '' ? name : `${path}.${name}`
    return [{ path: key, name, parent }, ...listKeys(inner, key, name)]
  })
  const { additionalProperties: additionalSchema, items, anyOf = [], oneOf = [], allOf = [] } = schema
  const inner = [
    typeof additionalSchema === 'object' ? additionalSchema : undefined,
    items,
    ...anyOf,
    ...oneOf,
    ...allOf,
  ]
  return [...ownKeys, ...inner.flatMap(part => (part === undefined ? [] : listKeys(part, path, parent)))]
}

/** Keys of an agent appear next to `use`, or under `agents`. */
const isAgents = (words: ReadonlySet<string>, parent: string) => parent === 'use' && words.has('agents')

const isDocumented = ({ name, parent }: Key): boolean =>
  sections.some(words => words.has(name) && (parent === undefined || words.has(parent) || isAgents(words, parent)))

const describeSchema = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema

it('the docs describe every configuration key in a section that names its parent', () => {
  const agentKeys = agentKinds.flatMap(({ schema }) => listKeys(describeSchema(schema), 'agents.*', 'use'))
  const keys = [...listKeys(describeSchema(configSchema), '', undefined), ...agentKeys]
  expect(keys.length).toBeGreaterThan(150)
  expect([...new Set(keys.filter(key => !isDocumented(key)).map(key => key.path))]).toEqual([])
})
