import type { Json } from '@postern/core'

const schema = 'http://nodeinfo.diaspora.software/ns/schema/2.1'

export const nodeInfoType = `application/json; profile="${schema}#"`

/** Where the description is (NodeInfo 2.1, discovery). */
export function renderNodeInfoLinks(origin: string): Json {
  return { links: [{ rel: schema, href: `${origin}/nodeinfo/2.1` }] }
}

/** A description of this program. Agents are its users. */
export function renderNodeInfo(agentCount: number): Json {
  return {
    version: '2.1',
    software: { name: 'postern', version: '0.1.0' },
    protocols: ['activitypub'],
    services: { inbound: [], outbound: [] },
    openRegistrations: false,
    usage: { users: { total: agentCount } },
    metadata: {},
  }
}
