// Checks that answers to peers reveal no secrets.
/** The patterns that no answer to a peer may match, regardless of the request. */
const leaks: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['HTML', /<\/?(html|body|pre|title|!doctype)\b/i],
  ['a stack trace', /\bat (async )?[\w.<>]+ \(|\.(ts|js|mjs):\d+/],
  ['a path', /(\/(home|usr|tmp|opt|srv|root|var)\/|node_modules|file:\/\/\/(?!etc))/],
  ['inner text', /(TypeError|SyntaxError|ReferenceError|SqliteError|Unexpected token|is not a function|undefined)/],
  ['a secret', /(db password|BEGIN [A-Z ]*PRIVATE KEY|eyJ[\w-]{10,}\.)/],
]

export function findLeak(text: string): string | undefined {
  if (text.includes(process.cwd())) return 'a path'
  return leaks.find(([, pattern]) => pattern.test(text))?.[0]
}

const types: ReadonlySet<string | null> = new Set(['application/json', 'application/a2a+json'])

/** Checks an answer to a peer. @throws Error if an answer reveals a secret, or is neither empty nor JSON */
export function inspectAnswer(status: number, headers: Headers, text: string): void {
  const leak = findLeak(text) ?? findLeak([...headers].join('\n'))
  if (leak) throw new Error(`an answer with status ${status} holds ${leak}: ${text.slice(0, 400)}`)
  if (text === '') return
  if (headers.get('content-type') === 'text/event-stream') {
    inspectStream(text)
    return
  }
  JSON.parse(text)
  if (!types.has(headers.get('content-type'))) throw new Error(`an answer is ${headers.get('content-type')}`)
}

/** Checks that every line of a stream is a comment, an id or one whole JSON document. */
function inspectStream(text: string): void {
  for (const line of text.split('\n')) {
    if (line.startsWith('data: ')) JSON.parse(line.slice(6))
    else if (line !== '' && line !== ':' && !/^id: [0-9a-f]+-\d+$/.test(line)) throw new Error(`a stream holds ${line}`)
  }
}
