import { simulatedChannels } from '../../channels.ts'
import { softwareVersion } from '../../platform/version.ts'

/** What a new project is made from. */
export interface ProjectAnswers {
  /** Name of the first agent: the local part of its address. */
  readonly agent: string
  /** Where the gateway will be reached, such as `https://agents.example`. */
  readonly origin: string
}

/** The files of a new project, by their paths. */
export function describeProject({ agent, origin }: ProjectAnswers): ReadonlyMap<string, string> {
  return new Map([
    ['postern.config.json', toJson(describeConfig(agent, origin))],
    [`agents/${agent}.ts`, agentSource],
    [`agents/${agent}.test.ts`, describeTest(agent)],
    ['package.json', toJson(describeManifest(agent))],
    ['tsconfig.json', toJson(compilerSettings)],
    ['.env.example', environmentExample],
    ['.gitignore', ignored],
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
const patience = 30_000

beforeAll(async () => {
  gateway = await startGateway()
}, patience)
afterAll(() => gateway.stop())

test.each([${channels}] as const)('${agent} answers a signed message by %s', { timeout: patience }, async via => {
  const { reply } = await gateway.send({ via, to: '${agent}', text: 'hello' })
  expect(reply?.text).toContain('You said: hello')
})

test('${agent} remembers a conversation in the chat', { timeout: patience }, async () => {
  const { thread } = await gateway.chat({ to: '${agent}', text: 'hello' })
  const { text } = await gateway.chat({ to: '${agent}', text: 'hello again', thread })
  expect(text).toBe('You said: hello again (message 2 of our conversation)')
})
`
}

/** Versions that were tried together with this release. */
const tools = { '@types/node': '24.19.2', typescript: '7.0.2', vitest: '5.1.0' } as const

function describeManifest(agent: string): object {
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
    dependencies: { postern: softwareVersion },
    devDependencies: tools,
  }
}

const compilerSettings = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noEmit: true,
    // The gateway runs TypeScript as it is.
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

const ignored = `node_modules/
.postern/
.env
`
