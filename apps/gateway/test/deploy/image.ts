import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

/** One instruction of a Containerfile, with what follows its name in one line. */
interface Instruction {
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

/** The stages of a Containerfile, each from its FROM on. */
export function listStages(instructions: readonly Instruction[]): readonly (readonly Instruction[])[] {
  return instructions.reduce<Instruction[][]>((stages, each) => {
    if (each.name === 'FROM') stages.push([])
    stages.at(-1)?.push(each)
    return stages
  }, [])
}

/** Which files of `root` an image is built from, by .dockerignore: the last pattern that fits decides. */
export function createContextFilter(root: string): (path: string) => boolean {
  const rules = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => ({ isTaken: line.startsWith('!'), pattern: toPattern(line.replace(/^!/, '')) }))
  return path => rules.findLast(({ pattern }) => pattern.test(path))?.isTaken ?? true
}

/** A pattern fits what it names and all below it. */
function toPattern(glob: string): RegExp {
  const escaped = glob.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
  const source = escaped.replaceAll(/\*\*\/|\*/g, found => (found === '*' ? '[^/]*' : '(?:.*/)?'))
  return new RegExp(`^${source}(?:/.*)?$`)
}

/** Does what COPY of a build stage does, in a plain folder. */
export function copyContext(root: string, target: string, words: string): void {
  const names = words.split(/\s+/)
  const isTaken = createContextFilter(root)
  const place = names.pop() ?? '.'
  for (const name of names) {
    const source = join(root, name)
    const to = statSync(source).isDirectory() ? join(target, place) : join(target, place, basename(name))
    mkdirSync(join(target, place), { recursive: true })
    cpSync(source, to, {
      recursive: true,
      filter: path => path === source || isTaken(path.slice(root.length + 1)),
    })
  }
}
