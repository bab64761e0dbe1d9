import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'

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
export async function checkEndpoints(deps: DoctorDeps, kind: EndpointKind): Promise<readonly CheckOutcome[]> {
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
