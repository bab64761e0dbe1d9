// Finds the doc comment of each key of a zod schema in its source.
import { join } from 'node:path'
import type { Node } from 'typescript/unstable/ast'
import type { Checker, Type } from 'typescript/unstable/sync'
import { API } from 'typescript/unstable/sync'

/** A constant of a source file that holds a zod schema. */
export interface SchemaName {
  /** The path from the root of the repository. */
  readonly file: string
  /** The name of the constant, in any case, because the name of a channel is in lower case. */
  readonly name: string
}

/** The doc comments at the keys of schemas, read from the sources. */
export interface KeyComments extends Disposable {
  /** Finds the first sentence of a key's comment; `*` stands for any name, and `[]` for an entry. Empty if there is none. */
  findComment(schema: SchemaName, path: readonly string[]): string
}

/**
 * Reads all sources once. TypeScript follows schemas across files, spreads and `extend`, so a comment is found at the key's declaration.
 */
export function openKeyComments(root: string): KeyComments {
  const api = new API({ cwd: root })
  const project = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') }).getProjects()[0]
  if (!project) throw new Error(`Cannot read ${root}/tsconfig.json: TypeScript opens no project for it`)
  const { checker, program } = project
  const inputs = new Map<string, Type>()

  function readInput({ file, name }: SchemaName): Type {
    const id = `${file}#${name}`
    const inputType = inputs.get(id) ?? readInputType(checker, findVariable(file, name))
    inputs.set(id, inputType)
    return inputType
  }

  function findVariable(file: string, name: string): Node {
    const source = program.getSourceFile(join(root, file))
    let declaration: Node | undefined
    const visit = (node: Node): void => {
      if (
        (node as { name?: { text?: string } }).name?.text?.toLowerCase() === name.toLowerCase() &&
        'initializer' in node
      )
        declaration ??= node
      else node.forEachChild(visit)
    }
    for (const statement of source?.statements ?? []) visit(statement)
    if (!declaration) throw new Error(`Cannot read comments of keys: declare the schema as "${name}" in ${file}`)
    return declaration
  }

  return {
    findComment(schema, path) {
      const parent = path
        .slice(0, -1)
        .reduce((types, step) => types.flatMap(type => takeStep(checker, type, step)), [
          readInput(schema),
        ] as readonly Type[])
      const name = path.at(-1) ?? ''
      const comments = parent
        .flatMap(type => listMembers(checker, type))
        .map(type => {
          const key = checker.getPropertyOfType(type, name)
          return key === undefined ? '' : checker.getDocumentationCommentOfSymbol(key)
        })
      return takeSentence(comments.find(Boolean) ?? '')
    },
    [Symbol.dispose]: () => api.close(),
  }
}

/** Reads the input type of a schema, which zod declares as a member of its type. */
function readInputType(checker: Checker, node: Node): Type {
  const schema = checker.getTypeAtLocation((node as { name?: Node }).name ?? node)
  const input = schema && checker.getPropertyOfType(schema, '_input')
  const type = input && checker.getTypeOfSymbol(input)
  if (!type) throw new Error('Cannot read what a schema takes: it is no zod schema')
  return type
}

/** Lists the alternatives of a union, each without `undefined`. */
function listMembers(checker: Checker, type: Type): readonly Type[] {
  const present = checker.getNonNullableType(type) ?? type
  return present.isUnionType() ? present.getTypes() : [present]
}

function takeStep(checker: Checker, type: Type, step: string): readonly Type[] {
  return listMembers(checker, type).flatMap(member => {
    if (step === '[]' || step === '*') return checker.getIndexInfosOfType(member).map(({ valueType }) => valueType)
    const key = checker.getPropertyOfType(member, step)
    return (key && checker.getTypeOfSymbol(key)) ?? []
  })
}

/** Returns the first sentence of a comment. It ends at a full stop before a capital, a backtick or the end. */
export function takeSentence(comment: string): string {
  const line = comment.replace(/\s+/g, ' ').trim()
  const sentenceEnd = /\.(?= [A-Z`"]|$)/.exec(line)?.index
  return sentenceEnd === undefined ? line : line.slice(0, sentenceEnd + 1)
}
