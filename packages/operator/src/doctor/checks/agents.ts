// Checks agents: failed starts, webhooks, models, remote agents, tools and issuers.
import { isoTime, parseJsonText } from '@postern/message'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { Check } from '../check.ts'
import { limitOutcomes, outcomeFor, skip } from '../check.ts'
import type { DoctorDeps, PendingForget } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import type { CheckOutcome } from '../report.ts'

const startFix = 'Start the server there, or correct the URL in `agents`.'

export const agentChecks: readonly Check[] = [
  {
    id: 'agents.start',
    description: 'No agent has failed in its `start()`.',
    fix: 'Fix what the error names. The gateway calls `start()` again by itself.',
    needs: ['gateway', 'running'],
    run: checkStarts,
  },
  {
    id: 'agents.forget',
    description: 'Every agent with a memory of its own has forgotten the people whom the gateway has forgotten.',
    fix: 'Fix what the error names. The gateway calls `forget()` again by itself.',
    needs: ['gateway'],
    run: checkForgets,
  },
  {
    id: 'agents.webhooks',
    description: 'The URL of each webhook agent answers (HEAD). The check sends no message.',
    fix: startFix,
    run: deps => checkEndpoints(deps, 'webhooks'),
  },
  {
    id: 'agents.models',
    description: 'The endpoint of each model answers (HEAD). The check asks the model nothing.',
    fix: startFix,
    run: deps => checkEndpoints(deps, 'models'),
  },
  {
    id: 'agents.remotes',
    description: 'The gateway reaches remote agents (A2A, AG-UI) that answer under one of our names.',
    fix: startFix,
    run: deps => checkEndpoints(deps, 'remotes'),
  },
  {
    id: 'agents.tools',
    description: 'The gateway reaches the MCP servers of agents, and has started those that are programs.',
    fix: startFix,
    run: checkTools,
  },
  {
    id: 'agents.trusted_issuers',
    description: 'The gateway can read the keys of `identity.trusted_issuers`.',
    fix: 'Ask the issuer; until then its evidence does not count.',
    needs: ['outside'],
    timeoutMs: 20_000,
    run: checkTrustedIssuers,
  },
  {
    id: 'agents.token_issuers',
    description: 'The gateway can read the key sets (JWKS) of `a2a.auth.issuers` and `web.auth.issuers`.',
    fix: 'Correct `jwks` of the issuer.',
    needs: ['outside'],
    run: checkTokenIssuers,
  },
]

function checkStarts(deps: DoctorDeps): CheckOutcome | readonly CheckOutcome[] {
  const failedStarts = requireOpened(deps).listFailedStarts()
  if (failedStarts.length === 0) return outcomeFor('agents', ok('no agent has failed to start'))
  return failedStarts.map(({ agent, error, failures, nextCallAt }) => {
    const times = failures === 1 ? 'once' : `${failures} times`
    const fix = `Fix it: the gateway calls start() again at ${isoTime(nextCallAt)}.`
    return outcomeFor(agent, failure(`start() of "${agent}" has failed ${times}: ${describeError(error)}`, fix))
  })
}

/** Reports calls of `forget()` that have failed. Other waiting calls are under way. */
async function checkForgets(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const pendingForgets = await requireOpened(deps).listWaitingForgets()
  const failedForgets = pendingForgets.filter(({ failures }) => failures > 0)
  const names = [...new Set(failedForgets.map(({ agent }) => agent))]
  if (names.length === 0)
    return [outcomeFor('agents', ok(`no agent has failed to forget; ${pendingForgets.length} calls wait`))]
  return names.map(name => outcomeFor(name, judgeForgets(name, failedForgets)))
}

function judgeForgets(name: string, failedForgets: readonly PendingForget[]): Verdict {
  const agentForgets = failedForgets.filter(({ agent }) => agent === name)
  const people = agentForgets.length === 1 ? 'one person' : `${agentForgets.length} people`
  const nextAttemptAt = isoTime(Math.min(...agentForgets.map(({ nextCallAt }) => nextCallAt)))
  return warning(
    `"${name}" has not forgotten ${people} yet: ${agentForgets.at(-1)?.error ?? 'it has not answered'}`,
    `Fix it: the gateway calls forget() again at ${nextAttemptAt}. If the agent is gone, delete what its own database knows.`,
  )
}

/** Checks the keys of issuers whose evidence about senders counts (`identity.trusted_issuers`). */
async function checkTrustedIssuers({ config, inspectIssuer }: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const issuers = [...new Set(config.identity.trusted_issuers.map(({ issuer }) => issuer))]
  if (issuers.length === 0) return [skip('identity.trusted_issuers', 'no issuer is trusted')]
  return Promise.all(
    issuers.map(async issuer => {
      const unreadableReason = await inspectIssuer(issuer)
      const fix = 'Until then its evidence is left out: see docs/explanation/identity/evidence.md.'
      return outcomeFor(
        issuer,
        unreadableReason === undefined ? ok(`the keys of ${issuer} can be read`) : warning(unreadableReason, fix),
      )
    }),
  )
}

/** Checks the key sets of issuers whose tokens admit callers and people. */
async function checkTokenIssuers({ config, network }: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const issuers = [...config.a2a.auth.issuers, ...config.web.auth.issuers]
  const urls = [...new Set(issuers.flatMap(({ jwks }) => (jwks === undefined ? [] : [jwks])))]
  if (urls.length === 0) return [skip('auth.issuers', 'no issuer has a key set')]
  return Promise.all(urls.map(async url => outcomeFor(url, await judgeKeySetUrl(url, network))))
}

async function judgeKeySetUrl(url: string, { fetch }: DoctorDeps['network']): Promise<Verdict> {
  const fix = 'Correct "jwks" of the issuer, or bring it back: until then nobody with its tokens is let in.'
  try {
    const { status, body } = await fetch(url, { timeoutMs: 8_000, redirects: 1 })
    if (status !== 200) return failure(`the key set ${url} answers ${status}`, fix)
    const { keys } = parseJsonText(Buffer.from(body).toString()) as { readonly keys?: unknown }
    return Array.isArray(keys) && keys.length > 0
      ? ok(`the key set ${url} has ${keys.length} keys`)
      : failure(`the key set ${url} has no keys`, fix)
  } catch (error) {
    return failure(`the key set ${url} cannot be read: ${describeError(error)}`, fix)
  }
}

/** A URL that an agent of this gateway depends on. */
interface Endpoint {
  readonly agent: string
  readonly url: string
}

type Members = Readonly<Record<string, unknown>>

/** Finds the URLs of an agent’s configuration, by its kind, or by the name of a member at any depth. */
const urlFinders = {
  webhooks: (agent: Members) => (agent.use === 'webhook' ? [agent.url] : []),
  models: (agent: Members) => findMembers(agent, 'base_url'),
  remotes: (agent: Members) => (['a2a', 'ag-ui'].includes(String(agent.use)) ? [agent.card ?? agent.url] : []),
  tools: (agent: Members) => findMembers(agent, 'mcp').flatMap(servers => findMembers(servers, 'url')),
} as const

type EndpointKind = keyof typeof urlFinders

const requestTimeoutMs = 5_000
const slowMs = 2_000
/** The maximum number of URLs that are asked, all at once. */
const maxCheckedUrls = 100

/** Requests the headers of each URL (HEAD). Any answer shows that it exists. No message is sent. */
async function checkEndpoints(deps: DoctorDeps, kind: EndpointKind): Promise<readonly CheckOutcome[]> {
  const endpoints = listEndpoints(deps.config.agents, kind)
  if (endpoints.length === 0) return [skip('', 'no agent has one')]
  const checkedEndpoints = endpoints.slice(0, maxCheckedUrls)
  const outcomes = checkedEndpoints.map(async endpoint =>
    outcomeFor(showUrl(endpoint.url), await judgeEndpoint(endpoint, deps)),
  )
  const unaskedCount = endpoints.length - checkedEndpoints.length
  return [
    ...(await Promise.all(outcomes)),
    ...(unaskedCount > 0 ? [skip('', `${unaskedCount} more were not asked`)] : []),
  ]
}

/** Checks MCP servers by asking those with a `url`. A program that does not list its tools prevents the gateway from opening. */
async function checkTools(deps: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const programs = listPrograms(deps.config.agents)
  if (programs.length === 0) return checkEndpoints(deps, 'tools')
  const programOutcomes = programs.map(({ agent, command }) =>
    deps.gateway
      ? outcomeFor(command, ok(`the gateway has started ${command} of "${agent}", which has listed its tools`))
      : skip(command, `${command} of "${agent}" starts with the gateway, which cannot be opened; see gateway.opens`),
  )
  const hasUrls = listEndpoints(deps.config.agents, 'tools').length > 0
  return [...limitOutcomes(programOutcomes), ...(hasUrls ? await checkEndpoints(deps, 'tools') : [])]
}

/** Lists the programs without their arguments, which may hold keys. */
function listPrograms(agents: Readonly<Record<string, Members>>) {
  return Object.entries(agents).flatMap(([agent, config]) =>
    findMembers(config, 'mcp')
      .flatMap(servers => (Array.isArray(servers) ? servers : []))
      .flatMap(server => (typeof server?.command === 'string' ? [{ agent, command: server.command as string }] : [])),
  )
}

function listEndpoints(agents: Readonly<Record<string, Members>>, kind: EndpointKind): readonly Endpoint[] {
  const agentByUrl = new Map<string, string>()
  for (const [agent, config] of Object.entries(agents))
    for (const url of urlFinders[kind](config))
      if (typeof url === 'string' && !agentByUrl.has(url)) agentByUrl.set(url, agent)
  return [...agentByUrl].map(([url, agent]) => ({ agent, url }))
}

function findMembers(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === name ? [inner] : findMembers(inner, name)))
}

/** Returns a URL without parts that may be secrets. */
function showUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

async function judgeEndpoint({ agent, url }: Endpoint, { network }: DoctorDeps): Promise<Verdict> {
  const shownUrl = showUrl(url)
  const fix = `Start what "${agent}" calls at ${shownUrl}, or correct the URL in agents.${agent}.`
  const startedAt = performance.now()
  try {
    const { status } = await network.fetchFor(new URL(url).origin)(url, { method: 'HEAD', timeoutMs: requestTimeoutMs })
    const ms = Math.round(performance.now() - startedAt)
    const observation = `${shownUrl} of "${agent}" answers ${status} in ${ms} ms`
    if (status >= 500 && status !== 501) return warning(observation, fix)
    return ms > slowMs ? warning(`${observation}, which is slow`, fix) : ok(observation)
  } catch (error) {
    return failure(`${shownUrl} of "${agent}" does not answer: ${describeError(error)}`, fix)
  }
}
