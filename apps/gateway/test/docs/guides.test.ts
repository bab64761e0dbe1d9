import { spawnSync } from 'node:child_process'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/main.ts'
import type { CodeBlock } from './blocks.ts'
import { findGuideFaults, guideBlocks, locateBlock, plantedFault } from './guide-faults.ts'

// These tests check that the pages for users show whole modules, real commands and Python that parses. The lists of `cases.ts` name those that are
// also run.

const ofLanguage = (language: string) => guideBlocks.filter(block => block.language === language)

describe('TypeScript in the guides', () => {
  it('passes the strict type check, which reports a wrong module', { timeout: 300_000 }, () => {
    expect(findGuideFaults()).toEqual([plantedFault])
  })
})

describe('Python in the guides', () => {
  it('has valid syntax', () => {
    const sources = ofLanguage('python').map(block => [locateBlock(block), block.code])
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

  it('exist in the program with their options', () => {
    expect(calls.length).toBeGreaterThan(60)
    expect(
      calls.flatMap(({ location, words }) => findCommandFaults(words).map(fault => `${location}: ${fault}`)),
    ).toEqual([])
  })

  it('make the test fail if they are wrong', () => {
    expect(findCommandFaults(['mesages'])).toEqual(['no command "mesages"'])
    expect(findCommandFaults(['requirements', '--status', 'open'])).toEqual(['no option "--status"'])
    expect(findCommandFaults(['requirements', 'show'])).toEqual(['too few arguments'])
  })
})

interface Call {
  readonly location: string
  /** The arguments after `postern`. */
  readonly words: readonly string[]
}

/** Lists the calls of the program in a block, line by line. */
function listCalls(block: CodeBlock): readonly Call[] {
  const lines = block.code.replace(/\\\n/g, ' ').split('\n')
  return lines.flatMap((line, index) => {
    const [, commandLine] = /(?:npx postern|bin\/postern(?:\.mjs)?) (.*)$/.exec(line.replace(/ #.*$/, '')) ?? []
    const commandParts = commandLine?.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? []
    const location = `${block.page}:${block.line + index}`
    return commandParts.length > 0
      ? [{ location, words: cutAtShell(commandParts).map(word => word.replace(/^["']|["']$/g, '')) }]
      : []
  })
}

/** Drops pipes, redirections and whatever else the shell handles. */
function cutAtShell(texts: readonly string[]): readonly string[] {
  const operatorIndex = texts.findIndex(word => /^(\||>|<(?!\w+>)|&&|;)/.test(word))
  return operatorIndex === -1 ? texts : texts.slice(0, operatorIndex)
}

function findCommandFaults(texts: readonly string[]): readonly string[] {
  const program = createProgram()
  const [command, remainingWords] = descend(program, texts)
  if (command.commands.length > 0) return [`no command "${remainingWords[0] ?? ''}"`]
  const options = [...program.options, ...command.options]
  const values: string[] = []
  for (let index = 0; index < remainingWords.length; index += 1) {
    const word = remainingWords[index] ?? ''
    const option = options.find(({ long }) => long === word)
    if (word.startsWith('--') && !option) return [`no option "${word}"`]
    if (option?.required) index += 1
    else if (!option) values.push(word)
  }
  const requiredCount = command.registeredArguments.filter(({ required }) => required).length
  return values.length < requiredCount ? ['too few arguments'] : []
}

/** Finds the command that the words call, and returns it with the words after its name. */
function descend(command: Command, texts: readonly string[]): readonly [Command, readonly string[]] {
  // The global option `--config <file>` may come before the command.
  const skipped = texts[0] === '--config' ? 2 : 0
  const [name, ...otherTexts] = texts.slice(skipped)
  const inner = command.commands.find(subcommand => subcommand.name() === name)
  if (inner) return descend(inner, otherTexts)
  const standard = defaultOf(command)
  return standard === command ? [command, texts] : [standard, texts]
}

/** Returns the default subcommand of a command: `requirements` alone means `requirements list`. */
function defaultOf(command: Command): Command {
  const name = (command as { readonly _defaultCommandName?: string | null })._defaultCommandName
  return command.commands.find(subcommand => subcommand.name() === name) ?? command
}
