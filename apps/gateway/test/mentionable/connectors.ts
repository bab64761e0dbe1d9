import { gateway, identity, section } from './row.ts'

const example =
  (file: string) =>
  (...titles: readonly string[]) =>
    titles.map(title => `apps/connector-example/test/${file}.test.ts › ${title}`)
const room = example('chat-room')
const trust = example('trust')
const visitors = example('visitors')

/** MN-11: what stands between a platform and agents, by the one of ours. */
export const connectorRows = section(
  'MN-11',
  [
    'P',
    'the platform’s own proof is verified first',
    visitors(
      'from a stranger, or with a cookie that is not ours, is refused',
      'two of one name are two, and nobody can be called as another is',
    ),
  ],
  [
    'P',
    'the agent is resolved by WebFinger and card, and called by A2A',
    room('MN-11: reaches the agent he names, with proof of who he is and inline mentions'),
  ],
  [
    'P',
    'evidence goes along only of what was verified',
    room('MN-8.1 inline: is understood by its text, and nobody vouches for it'),
  ],
  [
    'P',
    'a Connector Card is published, with active keys and the previous ones that still count',
    trust('MN-11: after a rotation the card has both keys, the new one signs, and what the old one signed counts'),
  ],
  [
    'P',
    'requirements and refusals are drawn natively',
    room(
      'MN-11: a payment is made where its link leads, which he alone sees, and the room hears of it',
      'MN-11: a refusal is words, and so is what nobody knows',
    ),
  ],
  ['P', 'resumption state is single-use', room('MN-7.2: only who is asked may decide, in his room, and once')],
  [
    'P',
    'agents decide whether they trust the instance',
    [
      ...trust(
        'MN-6.3, MN-8.1: a connector whom nobody trusts is a caller like others',
        'MN-11: a forged connector is nobody at all',
      ),
      ...gateway('identity', 'evidence of a connector, brought by somebody else, does not make him one'),
    ],
  ],
  [
    'P',
    'the instance’s origin is the issuer',
    [
      ...trust('MN-6.3: a forged attestation proves nothing, and the agent runs without it'),
      ...identity('test/attacks', 'that says it is another, with a key of its own, is found out'),
    ],
  ],
)
