import { handleHostOf } from '../../config/handle-host.ts'
import type { Check, CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import { checkHostMeta, checkKeySet, checkNodeInfo } from './documents.ts'
import { checkHandleHost } from './handle-host.ts'
import { checkOwnAddresses } from './own-addresses.ts'

const group = 'discovery'
const timeoutMs = 25_000

/** What `postern resolve` says of each of our addresses, in the rows whose ids begin so. */
function judgeAddresses(rows: readonly string[], words: Pick<Check, 'id' | 'what' | 'fix'>): Check {
  return { ...words, group, needs: ['gateway', 'peers'], timeoutMs, run: deps => checkOwnAddresses(deps, rows) }
}

/** How peers find the agents. The first ones are what `postern resolve` says of each address. */
export const discoveryChecks: readonly Check[] = [
  judgeAddresses(['address.', 'webfinger.'], {
    id: 'discovery.webfinger',
    what: 'WebFinger answers for each address, with the links that peers follow.',
    fix: 'Let the proxy pass `/.well-known/webfinger` of the domain on to the gateway.',
  }),
  judgeAddresses(['actor.'], {
    id: 'discovery.actor',
    what: 'Peers can fetch the actor of each address, with its key and inbox.',
    fix: 'Let the proxy pass `/agents/` on to the gateway, with the `Accept` field as it is.',
  }),
  judgeAddresses(['card.'], {
    id: 'discovery.agent_card',
    what: 'Peers can fetch the agent card of each address, and it says the same as WebFinger.',
    fix: 'Let the proxy pass `/.well-known/agent-card/` on to the gateway.',
  }),
  judgeAddresses(['a2a.'], {
    id: 'discovery.calls',
    what: 'The A2A cards of each address and of the host are valid, and their signatures hold.',
    fix: 'Let the proxy pass `/.well-known/` and `/agents/` on to the gateway.',
  }),
  judgeAddresses(['page.', 'directory.'], {
    id: 'discovery.pages',
    what: 'The page of each agent and the directory name the agent to people and to search engines.',
    fix: 'Let the proxy pass `/agents/` and `/.well-known/mentionable-agents.json` on to the gateway.',
  }),
  {
    id: 'discovery.host_meta',
    group,
    what: 'host-meta says where WebFinger is.',
    fix: 'Let the proxy pass `/.well-known/host-meta` on to the gateway.',
    needs: ['gateway', 'peers'],
    run: checkHostMeta,
  },
  {
    id: 'discovery.nodeinfo',
    group,
    what: 'NodeInfo says which software runs here.',
    fix: 'Let the proxy pass `/.well-known/nodeinfo` and `/nodeinfo/` on to the gateway.',
    needs: ['gateway', 'peers'],
    run: checkNodeInfo,
  },
  {
    id: 'discovery.jwks',
    group,
    what: 'The key set (JWKS) has the keys that sign our cards and tokens.',
    fix: 'Let the proxy pass `/.well-known/jwks.json` on to the gateway.',
    needs: ['gateway', 'peers'],
    run: checkKeySet,
  },
  {
    id: 'discovery.handle_host',
    group,
    what: 'The domain of the handles leads to the gateway, also where it is another than that of `origin`.',
    fix: 'Redirect `/.well-known/webfinger` of `handle_host` to the origin (302, with the query).',
    needs: ['gateway', 'peers'],
    run: checkHandles,
  },
]

async function checkHandles(deps: DoctorDeps): Promise<CheckOutcome> {
  const { agents, openResolvePlatform } = requireOpened(deps)
  const agent = agents.defaultAgent ?? agents.list()[0]?.name
  const handleHost = handleHostOf(deps.config)
  if (agent === undefined) return skip(handleHost, 'there is no agent')
  const place = { agent, handleHost, origin: deps.config.origin }
  return about(handleHost, await checkHandleHost(place, openResolvePlatform().fetch))
}
