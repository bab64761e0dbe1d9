import type { OwnerQuota } from '@postern/transcript'
import type { BoundTranscript } from '../deps.ts'

/** The same transcript with a quota for each owner. It refuses a write beyond the quota (`too_large`) and changes nothing. */
export function boundTranscript(transcript: BoundTranscript, most: OwnerQuota): BoundTranscript {
  return {
    ...transcript,
    openThread: (owner, alias) => transcript.openThread(owner, alias, most),
    append: (thread, entries, request) => transcript.append(thread, entries, { ...request, most }),
    replace: (thread, entries, request) => transcript.replace(thread, entries, { ...request, most }),
  }
}
