// Parses the form of an upload within its limits.
import { parseMediaType, readBody } from '@postern/http'
import { Rejection } from '@postern/message'

/** The maximum numbers of fields and files in one form. */
const maxFields = 16
/** The largest header of a field, in bytes. */
const maxHeadBytes = 4096

/**
 * Parses a form of few fields. It counts them first, because a parser takes seconds over a hundred thousand fields.
 * @throws Rejection malformed, too_large
 */
export async function readUploadForm(request: Request, maxBytes: number): Promise<FormData> {
  const type = request.headers.get('content-type') ?? ''
  const { type: name, parameters } = parseMediaType(type) ?? {}
  const boundary = parameters?.get('boundary')
  if (name !== 'multipart/form-data' || !boundary || boundary.length > 70) throw refuse()
  const body = Buffer.from(await readBody(request, maxBytes))
  checkFields(body, boundary)
  try {
    return await new Response(body, { headers: { 'content-type': type } }).formData()
  } catch (cause) {
    throw refuse(cause)
  }
}

function checkFields(body: Buffer, boundary: string): void {
  const delimiter = Buffer.from(`--${boundary}`)
  let count = 0
  for (
    let position = body.indexOf(delimiter);
    position >= 0;
    position = body.indexOf(delimiter, position + delimiter.length)
  ) {
    count += 1
    if (count > maxFields + 1) {
      throw new Rejection('too_large', `Cannot store attachment: the form has more than ${maxFields} fields`)
    }
    const start = position + delimiter.length
    const isLast = body.subarray(start, start + 2).equals(Buffer.from('--'))
    const hasShortHead = body.subarray(start, start + maxHeadBytes).includes('\r\n\r\n')
    if (!isLast && !hasShortHead) throw refuse()
  }
}

function refuse(cause?: unknown): Rejection {
  return new Rejection('malformed', 'Cannot store attachment: body is not multipart/form-data', { cause })
}
