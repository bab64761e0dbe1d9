import type { AgentDirectory, AgentProfile } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { describeResource } from './webfinger.ts'

const echo: AgentProfile = { name: 'echo', displayName: 'Echo', description: 'Echoes', version: '1.0.0' }
const agents: AgentDirectory = {
  domain: 'agents.example',
  origin: 'https://agents.example',
  defaultAgent: 'echo',
  find: name => (name === 'echo' ? echo : undefined),
  list: () => [echo],
}
const listLinks = (agent: string) => [
  { rel: 'mailto', href: `mailto:${agent}@agents.example` },
  { rel: 'self', type: 'application/activity+json', href: `https://agents.example/agents/${agent}` },
]

describe('describeResource()', () => {
  test.each([
    'acct:echo@agents.example',
    'acct:ECHO@Agents.Example',
    '@echo@agents.example',
    'https://agents.example/agents/echo',
  ])('finds the agent by %s (MN-1.3)', resource => {
    expect(describeResource([resource], agents, { listLinks }).subject).toBe('acct:echo@agents.example')
  })

  test.each([
    'acct:echo@example.com',
    'acct:ECHO@Example.COM',
    'acct:echo@agents.example',
    'https://agents.example/agents/echo',
    'HTTPS://Agents.Example/agents/Echo/',
  ])('finds an agent whose handle has a separate domain by %s, with that domain in its subject', resource => {
    const agentsWithHandleDomain = { ...agents, domain: 'example.com' }
    const { subject, aliases } = describeResource([resource], agentsWithHandleDomain, { listLinks })
    expect(subject).toBe('acct:echo@example.com')
    expect(aliases).toEqual(['https://agents.example/agents/echo'])
  })

  test('puts the links in the normative order', () => {
    const { links } = describeResource(['acct:echo@agents.example'], agents, { listLinks })
    expect(links.map(({ rel }) => rel)).toEqual([
      'self',
      'https://mentionable.dev/ns/rel/agent-card',
      'http://webfinger.net/rel/profile-page',
      'mailto',
    ])
    expect(links.filter(({ rel }) => rel !== 'mailto').every(({ href }) => href.startsWith('https://'))).toBe(true)
  })

  test.each([
    ['no resource', [], 'malformed', 'Cannot look up resource: expected exactly one "resource"'],
    [
      'two resources',
      ['acct:echo@agents.example', 'acct:help@agents.example'],
      'malformed',
      'Cannot look up resource: expected exactly one "resource"',
    ],
    [
      'an unknown agent',
      ['acct:nobody@agents.example'],
      'no_recipient',
      'Cannot look up resource: there is no such agent here',
    ],
    [
      'another domain',
      ['acct:echo@other.example'],
      'no_recipient',
      'Cannot look up resource: there is no such agent here',
    ],
    [
      'another origin',
      ['https://other.example/agents/echo'],
      'no_recipient',
      'Cannot look up resource: there is no such agent here',
    ],
    [
      'the domain above the origin’s host, when handles are not of it',
      ['acct:echo@example'],
      'no_recipient',
      'Cannot look up resource: there is no such agent here',
    ],
    [
      'an actor’s address with a query',
      ['https://agents.example/agents/echo?x=1'],
      'no_recipient',
      'Cannot look up resource: there is no such agent here',
    ],
    ['a malformed account', ['acct:@@'], 'no_recipient', 'Cannot look up resource: there is no such agent here'],
  ])('refuses %s', (_, resources, code, message) => {
    expect(() => describeResource(resources, agents, { listLinks })).toThrow(expect.objectContaining({ code, message }))
  })
})
