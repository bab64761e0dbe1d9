// Lists the names, ports and users of the private network for mail. Every name leads to this machine.
/** The domain of the people. */
export const peopleHost = 'people.test'
/** The host of the mail server. Its domain has no DMARC policy, because nobody signs the reports that a mail server writes. */
export const mailHost = 'mx.post.test'
export const alice = `alice@${peopleHost}`
/** A mailbox whose outgoing mail OpenDKIM signs. */
export const bea = `bea@${peopleHost}`
/** Mail to this address is accepted, and then cannot be delivered. */
export const goneAddress = `gone@${peopleHost}`

/** The ports of the mail server, of our gateway and of OpenDKIM. The network is private, so nothing else can occupy them. */
export const mailPorts = { server: 25, ours: 2525, filter: 8891 } as const

/** The folder of all files in the private namespace. Every user may enter it, whatever its parents outside permit. */
export const stagePath = '/mnt'

/** Users of the private namespace: those that the servers run as, and the owners of the mailboxes. */
export const users = {
  postfix: { uid: 64_001, gid: 64_001, home: '/nonexistent' },
  'Debian-exim': { uid: 64_002, gid: 64_002, home: '/nonexistent' },
  opensmtpd: { uid: 64_006, gid: 64_006, home: '/nonexistent' },
  opensmtpq: { uid: 64_007, gid: 64_007, home: '/nonexistent' },
  alice: { uid: 64_003, gid: 64_003, home: `${stagePath}/home/alice` },
  bea: { uid: 64_008, gid: 64_008, home: `${stagePath}/home/bea` },
  gone: { uid: 64_005, gid: 64_005, home: `${stagePath}/home/gone` },
} as const

/** The id of Postfix's group `postdrop`, which nobody else may be in. */
export const postdrop = 64_004
