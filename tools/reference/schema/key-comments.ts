import { join } from 'node:path'
import type { Node } from 'typescript/unstable/ast'
import type { Checker, Type } from 'typescript/unstable/sync'
import { API } from 'typescript/unstable/sync'

/** A constant of a source file that holds a zod schema. */
export interface SchemaName {
  /** From the root of the repository. */
  readonly file: string
  readonly name: string
}

/** What the doc comments of the source say of the keys of a schema. */
export interface KeyComments extends Disposable {
  /** First sentence of the comment at a key; `*` stands for any name, `[]` for an entry. Empty when there is none. */
  find(schema: SchemaName, path: readonly string[]): string
}

/** Reads all sources once. TypeScript follows schemas over files, spreads and `extend`, so that a comment is found where its key is written. */
export function openKeyComments(root: string): KeyComments {
  const api = new API({ cwd: root })
  const project = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') }).getProjects()[0]
  if (!project) throw new Error(`Cannot read ${root}/tsconfig.json: TypeScript opens no project for it`)
  const { checker, program } = project
  const inputs = new Map<string, Type>()

  function readInput({ file, name }: SchemaName): Type {
    const id = `${file}#${name}`
    const known = inputs.get(id) ?? readInputType(checker, findVariable(file, name))
    inputs.set(id, known)
    return known
  }

  function findVariable(file: string, name: string): Node {
    const source = program.getSourceFile(join(root, file))
    let found: Node | undefined
    const visit = (node: Node): void => {
      if ((node as { name?: { text?: string } }).name?.text === name && 'initializer' in node) found ??= node
      else node.forEachChild(visit)
    }
    for (const statement of source?.statements ?? []) visit(statement)
    if (!found) throw new Error(`Cannot find ${name} in ${file}`)
    return found
  }

  return {
    find(schema, path) {
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

/** What a schema takes, which zod declares as a member of its type. */
function readInputType(checker: Checker, node: Node): Type {
  const schema = checker.getTypeAtLocation((node as { name?: Node }).name ?? node)
  const input = schema && checker.getPropertyOfType(schema, '_input')
  const type = input && checker.getTypeOfSymbol(input)
  if (!type) throw new Error('Cannot read what a schema takes: it is no zod schema')
  return type
}

/** The alternatives of a union, each without `undefined`. */
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

/** A sentence ends at a full stop with a capital, a backtick or nothing behind it. */
export function takeSentence(comment: string): string {
  const line = comment.replace(/\s+/g, ' ').trim()
  const end = /\.(?= [A-Z`"]|$)/.exec(line)?.index
  return end === undefined ? line : line.slice(0, end + 1)
}
