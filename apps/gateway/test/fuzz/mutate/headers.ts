// Changes the header of a request at random.
import type { HttpCase } from '../cases/case.ts'
import { makeOddText } from '../values/odd-values.ts'
import type { Random } from '../values/random.ts'

type Field = readonly [name: string, value: string]

const types: readonly string[] = [
  'application/json',
  'application/activity+json',
  'application/ld+json; profile="https://www.w3.org/ns/activitystreams"',
  'application/a2a+json',
  'text/plain;charset=utf-16',
  'application/json; charset=x-unknown',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=----x',
  'application/x-www-form-urlencoded',
  'message/rfc822',
  '/',
  ';;;',
  'a/b;c="\\',
]

const fields: readonly Field[] = [
  ['accept', 'text/html'],
  ['accept', 'application/activity+json'],
  ['accept', '*/*;q=abc,,;'],
  ['accept', 'text/event-stream'],
  ['accept-language', 'de;q=2,*;q=-1'],
  ['a2a-version', '0.3'],
  ['a2a-version', '9.9.9'],
  ['a2a-extensions', ',,x,https://'],
  ['authorization', 'Bearer a.b.c'],
  ['authorization', 'Basic ////'],
  ['authorization', 'DPoP x'],
  ['authorization', 'Bearer eyJhbGciOiJFUzI1NiJ9.e30.AA'],
  ['authorization', 'Bearer eyJhbGciOltdfQ.W10.AA'],
  ['dpop', 'eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7fX0.e30.AA'],
  ['x-api-key', 'x'],
  ['cookie', 'a=b; __Host-x=%zz; ;='],
  ['date', 'Thu, 99 Foo 2026 99:99:99 GMT'],
  ['digest', 'SHA-256=?'],
  ['content-digest', 'sha-256=:?:, x'],
  ['signature', 'keyId="https://mastodon.test/users/alice#main-key",signature="",headers="("'],
  ['signature', 'sig1=:AA==:'],
  ['signature-input', 'sig1=("@method" "@target-uri");created=1e9;keyid="x"'],
  ['signature-input', 'sig1=(((;'],
  ['if-none-match', '"x", W/"'],
  ['if-modified-since', 'never'],
  ['range', 'bytes=5-1,-,99999999999999999999-'],
  ['last-event-id', '-1'],
  ['origin', 'null'],
  ['origin', 'https://[::1'],
  ['access-control-request-method', 'X'],
  ['x-forwarded-for', '1.2.3.4, [::1, ,999.1.1.1'],
  ['x-forwarded-host', 'evil.test'],
  ['x-forwarded-proto', 'gopher'],
  ['content-encoding', 'gzip'],
  ['prefer', 'return=minimal;;'],
  ['upgrade', 'h2c'],
  ['connection', 'upgrade'],
  ['expect', '100-continue'],
  ['expect', 'a miracle'],
  ['upload-length', '-1'],
  ['tus-resumable', '1.0.0'],
  ['x-amz-sns-message-type', 'Notification'],
  ['webhook-id', 'x'],
  ['webhook-signature', 'v1,x'],
  ['webhook-timestamp', '1e9'],
  ['host', 'evil.test:99999'],
  ['host', '[::1'],
  ['te', 'trailers, deflate'],
]

type RequestHeader = Pick<HttpCase, 'headers' | 'isCut'>

/** Creates the header of the request with its length, and sometimes with additional fields. */
export function changeHeaders(
  ownHeaders: Readonly<Record<string, string>>,
  length: number,
  random: Random,
): RequestHeader {
  const remainingHeaders = Object.entries(ownHeaders).filter(() => !random.chance(0.02))
  const typed = random.chance(0.08) ? replace(remainingHeaders, ['content-type', random.pick(types)]) : remainingHeaders
  const furtherFields = Array.from({ length: random.chance(0.2) ? 1 + random.integerBelow(3) : 0 }, () =>
    makeField(random),
  )
  const { framing, isCut } = makeFraming(length, random)
  return { headers: [...typed, ...furtherFields, ...framing], isCut }
}

function replace(list: readonly Field[], [name, value]: Field): readonly Field[] {
  return [...list.filter(([headerName]) => headerName !== name), [name, value]]
}

function makeField(random: Random): Field {
  const [name, value] = random.pick(fields)
  if (random.chance(0.7)) return [name, value]
  return [name, makeOddText(random).slice(0, 8_000)]
}

/** Creates the fields about the length of the body, which are sometimes wrong. */
function makeFraming(length: number, random: Random): { readonly framing: readonly Field[]; readonly isCut: boolean } {
  if (random.chance(0.97)) return { framing: length > 0 ? [['content-length', String(length)]] : [], isCut: false }
  const lies: readonly Field[] = [
    ['content-length', String(length + 100)],
    ['content-length', '-1'],
    ['content-length', '1e3'],
    ['content-length', '99999999999999999999'],
    ['transfer-encoding', 'chunked'],
    ['transfer-encoding', 'gzip, chunked'],
    ['transfer-encoding', 'identity'],
  ]
  return { framing: [random.pick(lies)], isCut: true }
}
