import { spawnSync } from 'node:child_process'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/main.ts'
import type { CodeBlock } from './blocks.ts'
import { isCheckedByLanguage, readCodeBlocks } from './blocks.ts'
import { foreignBlocks } from './cases.ts'
import { findTypeFaults } from './type-faults.ts'

// Pages for users show whole modules, real commands and Python that parses. The lists of `cases.ts` name those that are also run.

const blocks = readCodeBlocks()
  .filter(isCheckedByLanguage)
  .filter(({ page, code }) => !foreignBlocks.some(([of, mark]) => of === page && code.includes(mark)))
const placeOf = ({ page, line }: CodeBlock) => `${page}:${line}`
const ofLanguage = (language: string) => blocks.filter(block => block.language === language)

describe('TypeScript in the guides', () => {
  it('has the types of the package, and the test notices a wrong module', { timeout: 300_000 }, () => {
    const modules = ofLanguage('ts')
    const wrong = "import { defineAgent } from 'postern'\nexport default defineAgent({ handle: () => 3 })\n"
    const faults = findTypeFaults([...modules.map(({ code }) => `${code}\nexport {}\n`), wrong])
    const named = faults.map(fault => {
      const index = Number(/example-(\d+)\.ts/.exec(fault)?.[1])
      return modules[index] ? `${placeOf(modules[index])}: ${fault}` : 'the wrong one'
    })
    expect(named).toEqual(['the wrong one'])
  })
})

describe('Python in the guides', () => {
  it('parses', () => {
    const sources = ofLanguage('python').map(block => [placeOf(block), block.code])
    const parse =
      'import ast, json, sys\nfor place, code in json.load(sys.stdin):\n    compile(code, place, "exec", ast.PyCF_ONLY_AST)'
    const { status, stderr } = spawnSync('python3', ['-c', parse], {
      input: JSON.stringify(sources),
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })
})

describe('commands in the guides', () => {
  const calls = ofLanguage('sh').flatMap(block => listCalls(block))

  it('are commands of the program, with options that it has', () => {
    expect(calls.length).toBeGreaterThan(60)
    expect(calls.flatMap(({ place, words }) => findCommandFaults(words).map(fault => `${place}: ${fault}`))).toEqual([])
  })

  it('would not go unnoticed if one was wrong', () => {
    expect(findCommandFaults(['mesages'])).toEqual(['no command "mesages"'])
    expect(findCommandFaults(['requirements', '--status', 'open'])).toEqual(['no option "--status"'])
    expect(findCommandFaults(['requirements', 'show'])).toEqual(['too few arguments'])
  })
})

interface Call {
  readonly place: string
  /** Behind `postern`. */
  readonly words: readonly string[]
}

/** Calls of the program in a block, line by line. */
function listCalls(block: CodeBlock): readonly Call[] {
  const lines = block.code.replace(/\\\n/g, ' ').split('\n')
  return lines.flatMap((line, index) => {
    const [, rest] = /(?:npx postern|bin\/postern(?:\.mjs)?) (.*)$/.exec(line.replace(/ #.*$/, '')) ?? []
    const words = rest?.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? []
    const place = `${block.page}:${block.line + index}`
    return words.length > 0 ? [{ place, words: cutAtShell(words).map(word => word.replace(/^["']|["']$/g, '')) }] : []
  })
}

/** Without what a shell does with the output. */
function cutAtShell(words: readonly string[]): readonly string[] {
  const end = words.findIndex(word => /^(\||>|<(?!\w+>)|&&|;)/.test(word))
  return end === -1 ? words : words.slice(0, end)
}

function findCommandFaults(words: readonly string[]): readonly string[] {
  const program = createProgram()
  const [command, rest] = descend(program, words)
  if (command.commands.length > 0) return [`no command "${rest[0] ?? ''}"`]
  const known = [...program.options, ...command.options]
  const values: string[] = []
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? ''
    const option = known.find(({ long }) => long === word)
    if (word.startsWith('--') && !option) return [`no option "${word}"`]
    if (option?.required) at += 1
    else if (!option) values.push(word)
  }
  const needed = command.registeredArguments.filter(({ required }) => required).length
  return values.length < needed ? ['too few arguments'] : []
}

/** The command that some words call, and the words behind its name. */
function descend(command: Command, words: readonly string[]): readonly [Command, readonly string[]] {
  // Options of every command may stand in front: `--config <file>`.
  const skipped = words[0] === '--config' ? 2 : 0
  const [name, ...rest] = words.slice(skipped)
  const inner = command.commands.find(each => each.name() === name)
  if (inner) return descend(inner, rest)
  const standard = defaultOf(command)
  return standard === command ? [command, words] : [standard, words]
}

/** `requirements` alone is `requirements list`. */
function defaultOf(command: Command): Command {
  const name = (command as { readonly _defaultCommandName?: string | null })._defaultCommandName
  return command.commands.find(each => each.name() === name) ?? command
}
