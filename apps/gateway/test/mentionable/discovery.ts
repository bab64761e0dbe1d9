import { core, discovery, gateway, section } from './row.ts'

const mentionable = (...titles: readonly string[]) => gateway('mentionable', ...titles)
const resolve = (...titles: readonly string[]) => gateway('resolve', ...titles)
const defects = (...titles: readonly string[]) => gateway('resolve-defects', ...titles)
const webfinger = (...titles: readonly string[]) => discovery('webfinger', ...titles)
const spelling = (...titles: readonly string[]) =>
  titles.map(title => `apps/gateway/src/resolve/spelling.test.ts › ${title}`)

/** One address space over the protocols. */
export const discoveryRows = [
  ...section(
    'MN-1.1',
    [
      'P',
      'the adapter checks the credential, builds the message and calls the agent',
      mentionable('MN-9.1: the door checked the credential, minted evidence of it, and gave the history'),
    ],
    [
      'P',
      'a connector has no door of its own: it counts as far as its issuer is trusted',
      gateway('identity', 'is overridden by a caller whom the operator has named as a connector', 'by %s is ignored'),
    ],
    [
      'P',
      'an agent is handle(message, context)',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as it is written there
      ['packages/testing/src/agent-contract.ts › an agent of the kind ${kind}'],
    ],
  ),
  ...section(
    'MN-1.2',
    [
      'P',
      'the address is @agent@domain, looked up as acct:agent@domain',
      core('address', 'reads %s as %s', 'reads what formatAddress() writes'),
    ],
    ['P', 'the local part is ASCII', core('address', 'a local part that is not ASCII')],
    ['P', 'a Unicode domain is punycode in acct:', core('address', '@agent@bücher.example')],
    [
      'P',
      'a domain has two labels; localhost is none, agent.localhost and agent.test are',
      [
        ...core('address', 'a bare host name', '@agent@agent.localhost'),
        ...defects('what is no address is refused with the reason'),
      ],
    ],
    [
      'P',
      'three spellings are one address',
      core('address', '@agent@domain.tld', 'agent@domain.tld', 'acct:agent@domain.tld'),
    ],
    [
      'P',
      '@d.tld, @@d.tld, @a@b@c and @a@localhost are none',
      core('address', 'no local part', 'an empty local part', 'a third part', 'a bare host name'),
    ],
    ['P', 'clients may leave the first @ out; people are shown it', spelling('takes %s')],
    [
      'P',
      'published names keep to the narrow lower-case grammar',
      [
        'packages/agents/src/open.test.ts › refuses the name "%s"',
        ...resolve('MN-1.3: agents whose names differ in case only cannot be configured'),
      ],
    ],
  ),
  ...section(
    'MN-1.3',
    [
      'P',
      'WebFinger and cards are at the root of the domain',
      mentionable('MN-1.3: every document of discovery is at the root of the domain, by https addresses only'),
    ],
    [
      'P',
      'both are still found there when the gateway is elsewhere',
      gateway(
        'split-domain',
        'WebFinger at %s answers with the one subject',
        'checkHandleHost() is content with a redirect, and else says what to do',
      ),
    ],
    [
      'P',
      'the answer is a JRD with subject, aliases and links',
      [
        ...webfinger('finds the agent by %s'),
        ...resolve('MN-1.3: only the relations that are asked for (RFC 7033 §4.3)'),
      ],
    ],
    [
      'P',
      'links come in the normative order',
      [...webfinger('puts the links in the normative order'), ...defects('MN-1.3: links in another order')],
    ],
    [
      'P',
      'the agent card is always linked',
      [
        ...webfinger('puts the links in the normative order'),
        ...defects('a fediverse account without agent card is one of those, no more'),
      ],
    ],
    ['P', 'each link has the type of its relation', defects('MN-1.3: a link of another type')],
    [
      'P',
      'every address but mailto: is https',
      [
        ...mentionable('MN-1.3: every document of discovery is at the root of the domain, by https addresses only'),
        ...defects('MN-1.3: links without https are named, and not followed'),
      ],
    ],
    [
      'P',
      'the legacy relation is read and never written',
      [
        ...mentionable('MN-1.3: the legacy relation and the legacy addresses of specifications are never written'),
        ...defects('MN-1.3: the legacy relation'),
      ],
    ],
    [
      'P',
      'a resolver asks the address’s domain for acct:local@domain',
      defects('a server without fault: only what it may leave out is noted'),
    ],
    [
      'P',
      'it follows one redirect, to https only',
      defects('one, to https on another host, is followed; the subject still counts', '%s is refused'),
    ],
    [
      'P',
      'what it finds has to name the subject it asked for',
      defects(
        'MN-1.3: subject of somebody else',
        'one, to https on another host, is followed; the subject still counts',
      ),
    ],
  ),
  ...section(
    'MN-1.4',
    [
      'P',
      'a card for each agent, at /.well-known/agent-card/{local}',
      mentionable('MN-1.4: the card says how to call: endpoint, transport, modes, skills and what proves a caller'),
    ],
    [
      'P',
      'one document for A2A clients, ActivityPub clients and people, of the specification’s shape',
      [
        ...mentionable(
          'MN-1.4: the card says how to call: endpoint, transport, modes, skills and what proves a caller',
        ),
        ...defects(
          'MN-1.4: card of another',
          'MN-1.4: other version',
          'MN-1.4: no name',
          'MN-1.4: no semantic version',
        ),
      ],
    ],
    [
      'P',
      'the endpoint is https, the transport one of three',
      [
        ...mentionable(
          'MN-1.4: the card says how to call: endpoint, transport, modes, skills and what proves a caller',
        ),
        ...defects('MN-1.4: endpoint without TLS', 'MN-1.4: unknown transport'),
      ],
    ],
    [
      'P',
      'extensions have absolute https addresses',
      [
        ...resolve('MN-1.4: the card lists the extensions that are on, and no other'),
        ...defects('MN-1.6: extension without https'),
      ],
    ],
    [
      'P',
      'auth names its scheme',
      [
        ...mentionable(
          'MN-1.4: the card says how to call: endpoint, transport, modes, skills and what proves a caller',
        ),
        ...defects('MN-1.4: no auth', 'MN-1.4: OAuth without issuer'),
      ],
    ],
    [
      'P',
      'the card tells of the agent’s signing key',
      { leftOut: 'where and in what form is not known; the A2A card, which it links to, is signed and names its keys' },
    ],
  ),
  ...section(
    'MN-1.5',
    [
      'P',
      'a card of the host and one A2A endpoint for it; who is not named goes to the default agent',
      mentionable('MN-1.5: the host’s own card is the default agent’s, and its endpoint is the host’s'),
    ],
    [
      'P',
      'a leading @handle picks the agent',
      { leftOut: 'marked as planned upstream; every agent has an endpoint of its own' },
    ],
    ['P', 'terms of the host card', { leftOut: 'terms of that planned card' }],
    [
      'P',
      'the directory is a Schema.org Organization with a ContactPoint for each agent',
      [
        ...resolve('MN-1.5: the page of %s describes %j; the default agent’s stands for the host'),
        ...defects('MN-1.5: no directory', 'MN-1.5: directory without it'),
      ],
    ],
    [
      'P',
      'the page holds the same as JSON-LD',
      [
        ...resolve('MN-1.5: the page of %s describes %j; the default agent’s stands for the host'),
        ...discovery('routes', 'MN-1.5: what an agent is called cannot end the block of data in the page'),
        ...defects('MN-1.5: page without data'),
      ],
    ],
  ),
  ...section(
    'MN-1.6',
    [
      'P',
      'extensions and relations are named by /ns/ addresses',
      [
        ...mentionable('MN-1.3: the legacy relation and the legacy addresses of specifications are never written'),
        ...resolve('MN-1.4: the card lists the extensions that are on, and no other'),
      ],
    ],
    [
      'P',
      '/spec/ addresses are understood and never written',
      [
        ...mentionable('MN-1.3: the legacy relation and the legacy addresses of specifications are never written'),
        ...defects('MN-1.6: extension by its old name'),
      ],
    ],
  ),
]
