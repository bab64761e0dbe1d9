import { a2a, core, gateway, section } from './row.ts'

const chain = (...titles: readonly string[]) => core('chain', ...titles)

/** Agents that work together. */
export const compositionRows = [
  ...section(
    'MN-8.1',
    [
      'G',
      'mention_relay is fixed for each protocol',
      [
        ...core('message', 'mentionRelays says for every channel how a mention travels'),
        ...gateway('mentionable', 'mention_relay is the protocol’s, without exception'),
      ],
    ],
    [
      'G',
      'inline: @handle in the text; a connector may say so over A2A',
      [
        ...gateway(
          'identity',
          'is overridden by a caller whom the operator has named as a connector',
          'by %s is ignored',
        ),
        ...core('inline-mentions', 'MN-8.1 inline: whom an answer mentions stands in its text'),
        'apps/connector-example/test/chat-room.test.ts › MN-8.1 inline: is understood by its text, and nobody vouches for it',
      ],
    ],
    [
      'G',
      'recipient-field: the address in To or Cc',
      [
        'packages/email/test/answers.test.ts › MN-8.1 recipient-field: who is mentioned stands in To, agents of ours in Cc, each with a delivery of its own; itself and nonsense do not',
      ],
    ],
    [
      'G',
      'addressing: both the addressing and the text',
      gateway(
        'composition/loops',
        'MN-8.1 addressing: agents of one gateway that mention each other on the fediverse are woken with all proof, and stop within the budget',
      ),
    ],
    [
      'G',
      'none: the sibling is called, and one joint answer written',
      core(
        'mention-fanout',
        'MN-8.1 none: only there the gateway calls whom an answer mentions',
        'MN-8.1 none: the joint answer says who said what, in the order of the mentions, and names who fails',
      ),
    ],
  ),
  ...section('MN-8.2', [
    'P',
    'agents come in by the same way as people: credential, evidence, policy, agent',
    gateway(
      'composition/chain',
      'MN-8.3: a conversation of three agents crosses ActivityPub, A2A and email, and ends at the hop limit',
    ),
  ]),
  ...section(
    'MN-8.3',
    [
      'P',
      'hop counts from 1, max_hops is the operator’s, is_final where they meet',
      chain(
        'MN-8.3: nextHop() begins a chain with hop 1, and nobody raises our ceiling',
        'MN-8.3: clampAgentChain() holds a claim to our ceiling and works is_final out anew',
      ),
    ],
    [
      'P',
      'it is in recipient_capabilities, and on A2A in metadata.mentionable',
      [
        ...a2a('test/message', 'A2A-C10 has its agent chain held to our ceiling'),
        ...gateway(
          'composition/chain',
          'MN-8.3: a conversation of three agents crosses ActivityPub, A2A and email, and ends at the hop limit',
        ),
      ],
    ],
    [
      'P',
      'on the final hop the agent concludes and brings in nobody',
      [
        ...chain('MN-8.3: nobody else is called on the final hop'),
        ...core('mention-fanout', 'MN-8.3: on the final hop nobody is asked'),
      ],
    ],
    [
      'P',
      'renderAgentChain() tells the agent where it stands',
      chain('MN-8.3: renderAgentChain() tells where the agent stands, and the last one to conclude'),
    ],
    [
      'P',
      'the dispatcher refuses the next call beyond the last hop',
      gateway('composition/chain', 'MN-8.3: on the final hop the dispatcher refuses, and the agent can catch it'),
    ],
  ),
  ...section('MN-8.4', [
    'P',
    'on_behalf_of is a list of names on evidence',
    [
      ...core('access', 'MN-8.4: who acts on behalf of others has what all of them have'),
      ...gateway('identity', 'MN-8.4: who acts on behalf of somebody denied is denied'),
    ],
  ]),
]

const nine = (...titles: readonly string[]) => gateway('mentionable', ...titles)

/** MN-9.1, MN-9.2: the same steps and the same fields, whatever the door. */
export const endpointRows = [
  ...section(
    'MN-9.1',
    [
      'P',
      'the credential is verified; auth_method and verified say so',
      nine('MN-9.1: the door checked the credential, minted evidence of it, and gave the history'),
    ],
    [
      'P',
      'evidence of it is minted and attached',
      nine('MN-9.1: the door checked the credential, minted evidence of it, and gave the history'),
    ],
    [
      'P',
      'the history policy is applied',
      nine('MN-5: the gateway trims by the agent’s policy, before the agent is called'),
    ],
    ['P', 'recipient_capabilities are set', nine('mention_relay is the protocol’s, without exception')],
    [
      'P',
      'the agent is called with message and context',
      gateway('whole-line', 'is answered by the agent with what it heard, the sender and the proof'),
    ],
  ),
  ...section(
    'MN-9.2',
    ['G', 'id', nine('id is the protocol’s own')],
    ['G', 'thread_id', nine('thread_id is the conversation’s, for all of it')],
    ['G', 'in_reply_to', nine('in_reply_to is there when something is answered')],
    ['G', 'sender.address', nine('sender.address is the verified sender’s')],
    ['G', 'auth_method', nine('auth_method names the proof')],
    ['G', 'profile', nine('profile is what the transport knows of him')],
    ['G', 'mention_relay', nine('mention_relay is the protocol’s, without exception')],
    ['G', 'received_via', nine('received_via names the door')],
    ['G', 'raw', nine('raw is what arrived, without credentials')],
  ),
]
