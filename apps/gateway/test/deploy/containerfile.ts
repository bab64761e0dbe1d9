// Reads a Containerfile, and performs its COPY instructions in a plain folder.
import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

/** One instruction of a Containerfile, with its arguments in one line. */
export interface Instruction {
  readonly name: string
  readonly words: string
}

export function readInstructions(path: string): readonly Instruction[] {
  const text = readFileSync(path, 'utf8')
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
  const lines = text.split('\n').filter(line => line.trim() !== '')
  return lines.map(line => {
    const [, name = '', words = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    return { name, words }
  })
}

/** Lists the stages of a Containerfile, each beginning with its FROM. */
export function listStages(instructions: readonly Instruction[]): readonly (readonly Instruction[])[] {
  return instructions.reduce<Instruction[][]>((stages, instruction) => {
    if (instruction.name === 'FROM') stages.push([])
    stages.at(-1)?.push(instruction)
    return stages
  }, [])
}

/** Creates a filter for the files of `root` that an image is built from, by .dockerignore: the last matching pattern decides. */
export function createContextFilter(root: string): (path: string) => boolean {
  const rules = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => ({ isTaken: line.startsWith('!'), pattern: toPattern(line.replace(/^!/, '')) }))
  return path => rules.findLast(({ pattern }) => pattern.test(path))?.isTaken ?? true
}

/** Converts a pattern, which matches the path that it names and everything below it. */
function toPattern(glob: string): RegExp {
  const escaped = glob.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
  const source = escaped.replaceAll(/\*\*\/|\*/g, wildcard => (wildcard === '*' ? '[^/]*' : '(?:.*/)?'))
  return new RegExp(`^${source}(?:/.*)?$`)
}

/** Copies files into a plain folder, as COPY of a build stage does. */
export function copyContext(root: string, target: string, text: string): void {
  const names = text.split(/\s+/)
  const isTaken = createContextFilter(root)
  const destination = names.pop() ?? '.'
  for (const name of names) {
    const source = join(root, name)
    const to = statSync(source).isDirectory() ? join(target, destination) : join(target, destination, basename(name))
    mkdirSync(join(target, destination), { recursive: true })
    cpSync(source, to, {
      recursive: true,
      filter: path => path === source || isTaken(path.slice(root.length + 1)),
    })
  }
}
