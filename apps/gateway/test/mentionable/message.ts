import { a2a, core, gateway, section } from './row.ts'

const mentionable = (...titles: readonly string[]) => gateway('mentionable', ...titles)
const history = (...titles: readonly string[]) => core('history', ...titles)
const toolEvents = a2a(
  'src/parts/parts',
  'writeParts() tells of a tool call that has %s, and readToolEvent() reads it again',
)

/** What an agent reads and writes. */
export const messageRows = [
  ...section(
    'MN-2',
    [
      'G',
      'every door makes the one message every agent reads',
      [
        ...mentionable('MN-2: the agent reads a whole NormalizedMessage, in UTC, for one of our agents'),
        'packages/testing/src/protocol-contract.ts › an honest message is stored as a valid NormalizedMessage from a proven sender',
      ],
    ],
    [
      'G',
      'recipient_capabilities with mention_relay is always there',
      [
        ...core('message', 'needs to be told how a mention travels'),
        ...mentionable('mention_relay is the protocol’s, without exception'),
      ],
    ],
    [
      'G',
      'received_at is UTC',
      [
        ...core('message', 'takes no time that is not UTC'),
        ...mentionable('MN-2: the agent reads a whole NormalizedMessage, in UTC, for one of our agents'),
      ],
    ],
    ['G', 'raw is what arrived', mentionable('raw is what arrived, without credentials')],
    [
      'G',
      'received_via is one of the published three (and our web)',
      [
        ...mentionable('received_via names the door'),
        ...core('message', 'refuses a channel or a kind it does not know'),
      ],
    ],
    ['P', 'received_trace may come', { leftOut: 'its meaning is not known; what is unknown is ignored' }],
  ),
  ...section(
    'MN-2.1',
    [
      'G',
      'people and agents have addresses of one form',
      [
        ...mentionable('sender.address is the verified sender’s'),
        ...gateway(
          'composition/chain',
          'MN-8.3: a conversation of three agents crosses ActivityPub, A2A and email, and ends at the hop limit',
        ),
      ],
    ],
    ['G', 'auth_method is one of six', mentionable('auth_method names the proof')],
    [
      'P',
      'or none',
      core(
        'message',
        'takes the smallest message',
        'refuses a sender verified by %s without evidence of the transport',
      ),
    ],
    [
      'G',
      'verified: the door has checked the transport’s own proof',
      [
        ...mentionable('MN-9.1: the door checked the credential, minted evidence of it, and gave the history'),
        ...core('message', 'refuses a verified sender who was proven by nothing'),
      ],
    ],
    [
      'G',
      'authorize on identities, with the policy of trusted issuers',
      [
        ...core('access', 'with an allow list only those on it may', 'one identity has to meet all criteria'),
        ...gateway('identity', 'brings the agent the identity, after that of the caller'),
      ],
    ],
    [
      'G',
      'never on verified alone',
      core(
        'access',
        'nothing is met by a sender who has proven nothing',
        'an empty query, an empty value and a criterion that is none grant nothing',
      ),
    ],
  ),
  ...section(
    'MN-2.2',
    [
      'P',
      'a profile has the published members and keeps what else it holds',
      core('message', 'keeps what a profile holds beyond the known members'),
    ],
    [
      'G',
      'a profile is never authorization',
      [
        ...core(
          'access',
          'MN-2.2: a profile is no query, by type and when it is asked all the same',
          'MN-2.2: what a profile says is not looked at',
        ),
        ...gateway('identity', 'a profile gives nobody a right, whatever it says'),
      ],
    ],
    ['G', 'it is for showing who speaks', mentionable('profile is what the transport knows of him')],
  ),
  ...section('MN-2.3', [
    'P',
    'a turn of the history has role, sender, parts, timestamp, and an id when there is a stable one',
    [
      ...mentionable('MN-5, MN-2.3: each turn has its own sender, parts, role and time, oldest first'),
      ...history('prefers the id the writer gave to our own'),
    ],
  ]),
  ...section(
    'MN-2.4',
    [
      'G',
      'the history is oldest first and trimmed before the agent is called; agents do not trim again',
      [
        ...mentionable('MN-5: the gateway trims by the agent’s policy, before the agent is called'),
        ...history('keeps the order of the thread, oldest first, and invents nothing'),
      ],
    ],
    [
      'G',
      'times are UTC',
      mentionable('MN-5, MN-2.3: each turn has its own sender, parts, role and time, oldest first'),
    ],
  ),
  ...section(
    'MN-3',
    [
      'G',
      'the agent writes a response, the adapters deliver it',
      gateway('whole-line', 'is answered by the agent with what it heard, the sender and the proof'),
    ],
    [
      'G',
      'it may hold every kind of part, policy and tool_call included',
      [
        ...core('response', 'takes a whole response'),
        ...a2a('src/parts/parts', 'writeParts() keeps a policy whole as data, and says it in words, too'),
        'packages/email/test/answers.test.ts › links, requirements and tool calls are readable',
      ],
    ],
    [
      'G',
      'a streamed tool call is told twice under the same id',
      [
        ...mentionable(
          'MN-4.2, MN-3: a streamed tool call is told twice under one id, begun and ended; words about tools are words',
        ),
        ...core('answer', 'puts the end of a tool call in the place of its beginning'),
      ],
    ],
    [
      'P',
      'A2A streams by status and artifact updates',
      a2a('test/streams', 'CORE-STREAM-001, -003 begins with the task, ends with its end, and is an event stream'),
    ],
    [
      'P',
      'REST streams as text/event-stream; its envelopes may be signed',
      { leftOut: 'REST has no value in received_via: it is no door of ours' },
    ],
  ),
  ...section(
    'MN-4',
    [
      'G',
      'parts are told apart by kind; unknown ones are kept',
      [...core('part', 'no kind', 'an unknown part'), ...core('message', 'keeps parts of unknown kinds as they are')],
    ],
    ['G', 'text is plain, markdown or HTML', core('part', 'plain text', 'markdown', 'HTML', 'text of a strange type')],
    ['G', 'a file has its bytes by reference', core('part', 'a file without bytes', 'inline bytes')],
    [
      'G',
      'a link is a hyperlink and no file',
      [
        ...core('part', 'a link', 'a link without URL'),
        'packages/activitypub/test/changes.test.ts › AP-62: a quote is a link, whatever stamp comes with it, and the fallback text is left out',
      ],
    ],
    ['G', 'an artifact is structured output of an agent', core('part', 'an artifact')],
    ['G', 'a policy part holds a PolicyPart', core('part', 'a requirement', 'a requirement that is not nested')],
  ),
  ...section(
    'MN-4.1',
    ['G', 'bytes inline', core('part', 'inline bytes', 'a file with broken base64')],
    [
      'G',
      'bytes behind a URL, that may expire',
      [
        ...core('part', 'bytes behind a URL', 'a file behind no URL'),
        ...a2a('test/message', 'A2A-M08 a file by https address is named, never fetched'),
      ],
    ],
    [
      'G',
      'bytes by their SHA-256',
      [
        ...core('part', 'bytes by digest', 'another digest', 'a digest too short'),
        'apps/gateway/src/attachments.test.ts › MN-4.1: bytes that are fetched are what their digest promises, or none',
      ],
    ],
  ),
  ...section(
    'MN-4.2',
    [
      'P',
      'begun: neither result nor error; ended: one of them; failed: with a message',
      [
        ...core(
          'part',
          'a begun tool call',
          'an ended tool call',
          'a failed tool call',
          'a failed tool call without its reason',
        ),
        ...toolEvents,
      ],
    ],
    [
      'G',
      'one id, one call',
      core(
        'answer',
        'keeps tool calls of different ids apart',
        'puts the end of a tool call in the place of its beginning',
      ),
    ],
    [
      'G',
      'it tells of a tool the agent ran, and asks the recipient for nothing',
      a2a('test/outbound-calls', 'tells of tools as tool calls, each once'),
    ],
    ['P', 'on A2A it is a DataPart', toolEvents],
    [
      'P',
      'words about a tool are no tool call',
      [
        ...mentionable(
          'MN-4.2, MN-3: a streamed tool call is told twice under one id, begun and ended; words about tools are words',
        ),
        ...a2a('src/parts/parts', 'readToolEvent() reads nothing out of %j'),
      ],
    ],
  ),
  ...section(
    'MN-5',
    [
      'G',
      'oldest first, each turn with its own sender, parts, role and time',
      mentionable('MN-5, MN-2.3: each turn has its own sender, parts, role and time, oldest first'),
    ],
    [
      'G',
      'the door trims, by the configured policy; the agent takes what it gets',
      mentionable('MN-5: the gateway trims by the agent’s policy, before the agent is called'),
    ],
    [
      'G',
      'the sliding window keeps a stable head',
      history('never changes a byte of the head once it is closed, while the thread grows entry by entry'),
    ],
    [
      'G',
      'and the newest that fit',
      history('keeps the first exchange and the newest turns that fit', 'keeps to both budgets'),
    ],
    [
      'G',
      'it enforces that roles alternate',
      history(
        'takes turns between the two sides',
        'merges neighbours of one side into one turn under the first id and time',
      ),
    ],
    [
      'G',
      'it tells where a prompt cache may break',
      history(
        'has no breakpoint while the head may still grow',
        'never changes a byte of the head once it is closed, while the thread grows entry by entry',
      ),
    ],
    ['P', 'REST has a history in its requests', { leftOut: 'REST is no door of ours' }],
  ),
]
