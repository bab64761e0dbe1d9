import type { EmailRow } from './row.ts'
import { titlesOf } from './row.ts'

/** What is not answered, where an answer goes and what is in it. */
export const outgoing: readonly EmailRow[] = [
  {
    row: 'EM-32',
    title: 'Reply-To elsewhere',
    shownBy: [
      ...titlesOf('test/conversations', 'EM-32: a Reply-To to %s'),
      ...titlesOf('test/threads', 'EM-32: the Reply-To of a proven domain is used, that of another is not'),
    ],
  },
  {
    row: 'EM-57',
    title: 'a Subject with encoded line ends and a Bcc',
    shownBy: titlesOf('test/answers', 'EM-57: what came as a header injection goes out as one line'),
  },
  {
    row: 'EM-62',
    title: 'each class of mail that must not be answered',
    shownBy: [
      ...titlesOf(
        'test/automatic',
        'EM-62: %s: %s is kept and not given to the agent',
        'EM-62: a person with %s is answered',
      ),
      ...titlesOf(
        'test/never-answered',
        'EM-62: of 100 mails of people, from 25 programs in 25 languages, none is suppressed',
      ),
    ],
  },
  {
    row: 'EM-63',
    title: 'our own answer comes back',
    shownBy: [
      ...titlesOf(
        'test/loops',
        'EM-63: an answer that comes back by a list under another name is known by its hop field',
      ),
      ...titlesOf('test/automatic', 'EM-62: %s: %s is kept and not given to the agent'),
    ],
  },
  {
    row: 'EM-64',
    title: 'two gateways with agents that answer',
    shownBy: titlesOf(
      'test/loops',
      'EM-64: a correspondent that is a machine',
      'EM-64: what a gateway sends says so, and another gateway does not answer it',
    ),
  },
  {
    row: 'EM-65',
    title: 'a report about what we never sent, a forged VERP address',
    shownBy: titlesOf('test/bounces', 'EM-65: a report about a mail we never sent, or to an address that is not ours'),
  },
  {
    row: 'EM-67',
    title: 'smuggled mail through a Postfix with its default exclusions',
    shownBy: ['apps/gateway/src/cli/mail-checks/mail-checks.test.ts › EM-67: Postfix in front of the gateway'],
  },
]
