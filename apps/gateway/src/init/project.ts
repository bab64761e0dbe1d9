// Asks for the choices of a new project, and writes its files.
import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { CommandError } from '@postern/operator/commands'
import { simulatedChannels } from '../channels.ts'
import { softwareVersion } from '../system/version.ts'

/** The choices for a new project. */
interface ProjectAnswers {
  /** Name of the first agent: the local part of its address. */
  readonly agent: string
  /** The public address of the gateway, such as `https://agents.example`. */
  readonly origin: string
}

interface ProjectOptions {
  /** The version or file of the package `postern`. */
  readonly dependency?: string
}

/** Returns the files of a new project by their paths. */
export function describeProject(
  { agent, origin }: ProjectAnswers,
  { dependency = softwareVersion }: ProjectOptions = {},
): ReadonlyMap<string, string> {
  return new Map([
    ['postern.config.json', toJson(describeConfig(agent, origin))],
    [`agents/${agent}.ts`, agentSource],
    [`agents/${agent}.test.ts`, describeTest(agent)],
    ['package.json', toJson(describeManifest(agent, dependency))],
    ['tsconfig.json', toJson(compilerSettings)],
    ['.env.example', environmentExample],
    ['.gitignore', gitIgnore],
  ])
}

const toJson = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`

function describeConfig(agent: string, origin: string): object {
  return {
    $schema: './node_modules/postern/schemas/config.json',
    origin,
    operator_token: { env: 'OPERATOR_TOKEN' },
    default_agent: agent,
    agents: { [agent]: { name: agent, description: 'Says back what it heard.', use: `./agents/${agent}.ts` } },
  }
}

const agentSource = `import { defineAgent } from 'postern'

export default defineAgent({
  async handle(message, context) {
    const [part] = message.parts
    if (part?.kind !== 'text') return 'I read text only.'
    const { count = 0 } = ((await context.state.get()) ?? {}) as { count?: number }
    context.state.set({ count: count + 1 })
    return \`You said: \${part.content} (message \${count + 1} of our conversation)\`
  },
})
`

function describeTest(agent: string): string {
  const channels = simulatedChannels.map(name => `'${name}'`).join(', ')
  return `import type { StartedGateway } from 'postern/testing'
import { startGateway } from 'postern/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

let gateway: StartedGateway

// A gateway and its simulated network take a moment on a busy machine.
const timeoutMs = 30_000

beforeAll(async () => {
  gateway = await startGateway()
}, timeoutMs)
afterAll(() => gateway.stop())

test.each([${channels}] as const)('${agent} answers a signed message by %s', { timeout: timeoutMs }, async via => {
  const { reply } = await gateway.send({ via, to: '${agent}', text: 'hello' })
  expect(reply?.text).toContain('You said: hello')
})

test('${agent} remembers a conversation in the chat', { timeout: timeoutMs }, async () => {
  const { thread } = await gateway.chat({ to: '${agent}', text: 'hello' })
  const { text } = await gateway.chat({ to: '${agent}', text: 'hello again', thread })
  expect(text).toBe('You said: hello again (message 2 of our conversation)')
})
`
}

/** The versions that were tested with this release. */
const toolVersions = { '@types/node': '24.19.2', typescript: '7.0.2', vitest: '5.1.0' } as const

function describeManifest(agent: string, postern: string): object {
  const program = 'node --max-semi-space-size=8 --min-semi-space-size=4 node_modules/postern/bin/postern.mjs'
  return {
    name: `${agent}-gateway`,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: {
      dev: `${program} dev`,
      start: `${program} start`,
      test: 'vitest run',
      types: 'tsc',
    },
    dependencies: { postern },
    devDependencies: toolVersions,
  }
}

const compilerSettings = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noEmit: true,
    // Node runs the agents’ TypeScript without a build.
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
  },
  include: ['agents'],
}

const environmentExample = `# Copy this file to .env and fill it in: every command of postern reads it.
# Bearer token of the operator's API, 16 characters or more: openssl rand -hex 32
OPERATOR_TOKEN=
`

const gitIgnore = `node_modules/
.postern/
.env
`

/** Writes the files of a project, or none if one of them exists. @throws CommandError that names the existing files */
export function writeProject(folder: string, files: ReadonlyMap<string, string>): void {
  const existingPaths = [...files.keys()].filter(path => lstatSync(join(folder, path), { throwIfNoEntry: false }))
  if (existingPaths.length > 0) {
    throw new CommandError(
      `Cannot write a project in ${folder}: ${existingPaths.join(', ')} ${existingPaths.length > 1 ? 'exist' : 'exists'} already. Name an empty folder: postern init <folder>`,
    )
  }
  for (const [path, text] of files) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    // The flag refuses a file that was created in between.
    writeFileSync(file, text, { flag: 'wx' })
  }
}

/** The answers on the command line. The command asks for the others at a terminal, or uses their defaults. */
export type AnswersFromFlags = { readonly [Key in keyof ProjectAnswers]?: string | undefined }

interface Question {
  readonly prompt: string
  readonly fallback: string
  /** Returns the fault of an answer, or undefined if it has none. */
  findFault(answer: string): string | undefined
}

const questions: Readonly<Record<keyof ProjectAnswers, Question>> = {
  agent: {
    prompt: 'Name of the first agent',
    fallback: 'desk',
    findFault: answer =>
      /^[a-z0-9_-]{1,64}$/.test(answer)
        ? undefined
        : `"${answer}" is not a name of an agent: use 1 to 64 of a-z, 0-9, "_" and "-"`,
  },
  origin: {
    prompt: 'Public address of the gateway',
    fallback: 'https://agents.example',
    findFault: answer =>
      isOrigin(answer) ? undefined : `"${answer}" is not an https origin: write it like https://agents.example`,
  },
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' && url.origin === text && url.hostname.includes('.')
}

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream
}

/** Asks for the missing answers at a terminal, and uses their defaults elsewhere. @throws CommandError for an invalid answer */
export async function askForProject(givenAnswers: AnswersFromFlags, terminal: Terminal): Promise<ProjectAnswers> {
  const dialogue = terminal.input.isTTY === true ? openDialogue(terminal) : undefined
  try {
    return {
      agent: await answerQuestion(questions.agent, givenAnswers.agent, dialogue?.ask),
      origin: await answerQuestion(questions.origin, givenAnswers.origin, dialogue?.ask),
    }
  } finally {
    dialogue?.close()
  }
}

type AskQuestion = (question: string) => Promise<string>

async function answerQuestion(
  question: Question,
  givenAnswer: string | undefined,
  ask: AskQuestion | undefined,
): Promise<string> {
  const { prompt, fallback, findFault } = question
  if (givenAnswer === undefined && ask !== undefined) return readAnswer(question, ask)
  const answer = givenAnswer ?? fallback
  const fault = findFault(answer)
  if (fault !== undefined) throw new CommandError(`${prompt}: ${fault}.`)
  return answer
}

/** Asks until the answer is valid. */
async function readAnswer({ prompt: promptText, fallback, findFault }: Question, ask: AskQuestion): Promise<string> {
  let prompt = `${promptText} (${fallback}): `
  for (;;) {
    const answer = (await ask(prompt)).trim() || fallback
    const fault = findFault(answer)
    if (fault === undefined) return answer
    prompt = `${fault}.\n${promptText} (${fallback}): `
  }
}

function openDialogue({ input, output }: Terminal): { readonly ask: AskQuestion; close(): void } {
  const dialogue = createInterface({ input, output })
  const closed = new Promise<never>((_, reject) =>
    dialogue.once('close', () =>
      reject(new CommandError('Nothing was written: the input ended before every question was answered.')),
    ),
  )
  closed.catch(() => undefined)
  return { ask: question => Promise.race([dialogue.question(question), closed]), close: () => dialogue.close() }
}
