/** The names of the private network of mail; all of them are this machine. */
export const peopleHost = 'people.test'
/** Of a domain without a DMARC policy: nobody signs the reports that a mail server writes. */
export const mailHost = 'mx.post.test'
export const alice = `alice@${peopleHost}`
/** Her mail OpenDKIM signs on its way. */
export const bea = `bea@${peopleHost}`
/** Mail to this address is accepted, and then cannot be delivered. */
export const gone = `gone@${peopleHost}`

/** Where the mail server listens, and where we do. The network is private: nobody else can have them. */
export const mailPorts = { server: 25, ours: 2525, filter: 8891 } as const

/** Where everything lies within the private namespace: everybody may enter, whatever lies above it outside. */
export const stagePath = '/mnt'

/** Users of the private namespace: whom the servers run as, and whose mailbox it is. */
export const users = {
  postfix: { uid: 64_001, gid: 64_001, home: '/nonexistent' },
  'Debian-exim': { uid: 64_002, gid: 64_002, home: '/nonexistent' },
  opensmtpd: { uid: 64_006, gid: 64_006, home: '/nonexistent' },
  opensmtpq: { uid: 64_007, gid: 64_007, home: '/nonexistent' },
  alice: { uid: 64_003, gid: 64_003, home: `${stagePath}/home/alice` },
  bea: { uid: 64_008, gid: 64_008, home: `${stagePath}/home/bea` },
  gone: { uid: 64_005, gid: 64_005, home: `${stagePath}/home/gone` },
} as const

/** The group of Postfix's that nobody else may be in. */
export const postdrop = 64_004
