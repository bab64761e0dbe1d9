// Lists installations for the doctor's checks of agents.
import { generateKeyPairSync } from 'node:crypto'
import type { FailedStart, PendingForget } from '@postern/operator'
import { openDoctorBench, serveHttp } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { describeOpened } from '../setup/shared-gateway.ts'

const closedUrl = 'http://127.0.0.1:1'

/** Examines an agent that depends on a server which answers with this status, or on none. */
async function examineAgent(id: string, describe: (origin: string) => object, status?: number) {
  const port = status === undefined ? undefined : await serveHttp((_, answer) => answer.writeHead(status).end())
  const agent = describe(port === undefined ? closedUrl : `http://127.0.0.1:${port}`)
  return examine(id, openDoctorBench({ settings: { agents: { one: agent } } }))
}

const webhook = (origin: string) => ({
  use: 'webhook',
  url: `${origin}/hook?key=hidden`,
  secret: 'Jr5tYq0vWc7bK2mX9sLd4hNf',
})
const model = (origin: string) => ({ use: 'openai', base_url: `${origin}/v1`, model: 'm' })
const remote = (origin: string) => ({ use: 'ag-ui', url: `${origin}/run` })
const withTools = (origin: string) => ({ ...model(closedUrl), mcp: [{ url: `${origin}/mcp` }] })

const endpointCases = (id: string, describe: (origin: string) => object) => ({
  failingCase: { runCheck: () => examineAgent(id, describe), expectedDetail: 'does not answer' },
  passingCase: {
    runCheck: () => examineAgent(id, describe, 405),
    expectedDetail: /^http:\S+\/(hook\?…|v1|run|mcp) of "one" answers 405 in \d+ ms$/,
  },
})

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }

/** Examines the connector card of an issuer whose evidence counts (Mentionable). */
async function examineIssuer(keys: readonly object[]) {
  const card = { spec_version: '0.1', issuer: 'slack.test', keys }
  const port = await serveHttp((_, answer) =>
    answer.setHeader('content-type', 'application/json').end(JSON.stringify(card)),
  )
  const trusted = { issuer: 'slack.test', methods: ['m'], assurance: ['a'], subject_prefixes: ['slack:T1/'] }
  const identity = { trusted_issuers: [trusted] }
  return examine(
    'agents.trusted_issuers',
    openDoctorBench({ loopback: { 'slack.test': port }, settings: { identity } }),
  )
}

async function examineKeySet(keys: readonly object[]) {
  const port = await serveHttp((_, answer) => answer.end(JSON.stringify({ keys })))
  const issuer = { issuer: 'https://login.test', jwks: 'https://login.test/jwks.json', audience: 'https://agents.test' }
  const settings = { a2a: { auth: { issuers: [issuer] } } }
  return examine('agents.token_issuers', openDoctorBench({ loopback: { 'login.test': port }, settings }))
}

async function examineStarts(listFailedStarts?: () => readonly FailedStart[]) {
  const gateway = await describeOpened(listFailedStarts && { listFailedStarts })
  return examine('agents.start', openDoctorBench({ deps: { gateway, isRunning: true } }))
}

async function examineForgets(waiting: readonly PendingForget[]) {
  const gateway = await describeOpened({ listWaitingForgets: async () => waiting })
  return examine('agents.forget', openDoctorBench({ deps: { gateway } }))
}

const waitingForget: PendingForget = { agent: 'desk', failures: 2, error: 'no disk', nextCallAt: 0 }
const begunForget: PendingForget = { agent: 'desk', failures: 0, nextCallAt: 0 }

const failedStart: FailedStart = { agent: 'desk', error: new Error('no file'), failures: 2, nextCallAt: 0 }

export const agentCases: Cases = {
  'agents.start': {
    failingCase: {
      runCheck: () => examineStarts(() => [failedStart]),
      expectedDetail: 'start() of "desk" has failed 2 times: no file',
    },
    passingCase: { runCheck: () => examineStarts(), expectedDetail: 'no agent has failed to start' },
  },
  'agents.forget': {
    failingCase: {
      runCheck: () => examineForgets([waitingForget, begunForget, waitingForget]),
      expectedDetail: '"desk" has not forgotten 2 people yet: no disk',
    },
    passingCase: {
      runCheck: () => examineForgets([begunForget]),
      expectedDetail: 'no agent has failed to forget; 1 calls wait',
    },
  },
  'agents.webhooks': endpointCases('agents.webhooks', webhook),
  'agents.models': endpointCases('agents.models', model),
  'agents.remotes': endpointCases('agents.remotes', remote),
  'agents.tools': endpointCases('agents.tools', withTools),
  'agents.trusted_issuers': {
    failingCase: { runCheck: () => examineIssuer([]), expectedDetail: 'slack.test' },
    passingCase: { runCheck: () => examineIssuer([jwk]), expectedDetail: 'the keys of slack.test can be read' },
  },
  'agents.token_issuers': {
    failingCase: { runCheck: () => examineKeySet([]), expectedDetail: 'has no keys' },
    passingCase: { runCheck: () => examineKeySet([jwk]), expectedDetail: 'has 1 keys' },
  },
}
