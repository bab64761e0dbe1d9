/** THE LIST: a protocol is one line here, and its folder. */
export { openA2a as a2a } from '@postern/a2a'
export { openActivityPub as activitypub } from '@postern/activitypub'
export { openEmail as email } from '@postern/email'
export { openWeb as web } from '@postern/web'
