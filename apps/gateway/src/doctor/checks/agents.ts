import { parseJsonText } from '@postern/core'
import { inspectIssuer } from '@postern/identity'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { Check } from '../check.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'

const startIt = 'Start the server there, or correct the URL in `agents`.'

/** What agents, and those who call them, depend on. */
export const agentChecks: readonly Check[] = [
  {
    id: 'agents.webhooks',
    what: 'The URL of each webhook agent answers (HEAD). The check sends no message.',
    fix: startIt,
    run: deps => checkEndpoints(deps, 'webhooks'),
  },
  {
    id: 'agents.models',
    what: 'The endpoint of each model answers (HEAD). The check asks the model nothing.',
    fix: startIt,
    run: deps => checkEndpoints(deps, 'models'),
  },
  {
    id: 'agents.remotes',
    what: 'The gateway reaches remote agents (A2A, AG-UI) that answer under one of our names.',
    fix: startIt,
    run: deps => checkEndpoints(deps, 'remotes'),
  },
  {
    id: 'agents.tools',
    what: 'The gateway reaches the MCP servers of agents.',
    fix: startIt,
    run: deps => checkEndpoints(deps, 'tools'),
  },
  {
    id: 'agents.trusted_issuers',
    what: 'The gateway can read the keys of `identity.trusted_issuers`.',
    fix: 'Ask the issuer; until then its evidence does not count.',
    needs: ['outside'],
    timeoutMs: 20_000,
    run: checkTrustedIssuers,
  },
  {
    id: 'agents.token_issuers',
    what: 'The gateway can read the key sets (JWKS) of `a2a.auth.issuers` and `web.auth.issuers`.',
    fix: 'Correct `jwks` of the issuer.',
    needs: ['outside'],
    run: checkTokenIssuers,
  },
]

/** Third parties whose word about senders counts (`identity.trusted_issuers`). */
async function checkTrustedIssuers({ config, outside, now }: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const issuers = [...new Set(config.identity.trusted_issuers.map(({ issuer }) => issuer))]
  if (issuers.length === 0) return [skip('identity.trusted_issuers', 'no issuer is trusted')]
  return Promise.all(
    issuers.map(async issuer => {
      const problem = await inspectIssuer(issuer, { fetch: outside.fetch, now })
      const fix = 'Until then its evidence is left out: see docs/explanation/identity/evidence.md.'
      return about(issuer, problem === undefined ? ok(`the keys of ${issuer} can be read`) : warning(problem, fix))
    }),
  )
}

/** Issuers of the tokens that let callers and people in. */
async function checkTokenIssuers({ config, outside }: DoctorDeps): Promise<readonly CheckOutcome[]> {
  const issuers = [...config.a2a.auth.issuers, ...config.web.auth.issuers]
  const urls = [...new Set(issuers.flatMap(({ jwks }) => (jwks === undefined ? [] : [jwks])))]
  if (urls.length === 0) return [skip('auth.issuers', 'no issuer has a key set')]
  return Promise.all(urls.map(async url => about(url, await judgeKeySetUrl(url, outside))))
}

async function judgeKeySetUrl(url: string, { fetch }: DoctorDeps['outside']): Promise<Verdict> {
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

/** A URL that an agent of ours depends on. */
interface Endpoint {
  readonly agent: string
  readonly url: string
}

type Members = Readonly<Record<string, unknown>>

/** Which URLs of an agent's configuration are asked: by its kind, or by the name of the member at any depth. */
const finders = {
  webhooks: (agent: Members) => (agent.use === 'webhook' ? [agent.url] : []),
  models: (agent: Members) => findMembers(agent, 'base_url'),
  remotes: (agent: Members) => (['a2a', 'ag-ui'].includes(String(agent.use)) ? [agent.card ?? agent.url] : []),
  tools: (agent: Members) => findMembers(agent, 'mcp').flatMap(servers => findMembers(servers, 'url')),
} as const

type EndpointKind = keyof typeof finders

const patienceMs = 5_000
const slowMs = 2_000
/** All at once. */
const mostAsked = 100

/** Asks each for its headers only (HEAD): whatever it answers, it is there. The check sends no message. */
async function checkEndpoints(deps: DoctorDeps, kind: EndpointKind): Promise<readonly CheckOutcome[]> {
  const endpoints = listEndpoints(deps.config.agents, kind)
  if (endpoints.length === 0) return [skip('', 'no agent has one')]
  const asked = endpoints.slice(0, mostAsked)
  const outcomes = asked.map(async endpoint => about(showUrl(endpoint.url), await judgeEndpoint(endpoint, deps)))
  const rest = endpoints.length - asked.length
  return [...(await Promise.all(outcomes)), ...(rest > 0 ? [skip('', `${rest} more were not asked`)] : [])]
}

function listEndpoints(agents: Readonly<Record<string, Members>>, kind: EndpointKind): readonly Endpoint[] {
  const found = new Map<string, string>()
  for (const [agent, config] of Object.entries(agents))
    for (const url of finders[kind](config)) if (typeof url === 'string' && !found.has(url)) found.set(url, agent)
  return [...found].map(([url, agent]) => ({ agent, url }))
}

function findMembers(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === name ? [inner] : findMembers(inner, name)))
}

/** Without what may be a key. */
function showUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

async function judgeEndpoint({ agent, url }: Endpoint, { outside }: DoctorDeps): Promise<Verdict> {
  const shown = showUrl(url)
  const fix = `Start what "${agent}" calls at ${shown}, or correct the URL in agents.${agent}.`
  const begun = performance.now()
  try {
    const { status } = await outside.fetchFor(new URL(url).origin)(url, { method: 'HEAD', timeoutMs: patienceMs })
    const ms = Math.round(performance.now() - begun)
    const seen = `${shown} of "${agent}" answers ${status} in ${ms} ms`
    if (status >= 500 && status !== 501) return warning(seen, fix)
    return ms > slowMs ? warning(`${seen}, which is slow`, fix) : ok(seen)
  } catch (error) {
    return failure(`${shown} of "${agent}" does not answer: ${describeError(error)}`, fix)
  }
}
