import { expect, it } from 'vitest'
import { readUploadForm } from './read-form.ts'

const maxBytes = 8 * 1024 * 1024

function post(body: BodyInit, type?: string): Request {
  return new Request('http://x.test/', { method: 'POST', body, ...(type && { headers: { 'content-type': type } }) })
}

function postFields(count: number, head: string): Request {
  const fields = Array.from({ length: count }, () => `--b\r\n${head}\r\n\r\nx\r\n`)
  return post(`${fields.join('')}--b--\r\n`, 'multipart/form-data; boundary=b')
}

const malformed = { code: 'malformed', message: 'Cannot store attachment: body is not multipart/form-data' }

it('readForm() reads a file whose bytes resemble the boundary of another form', async () => {
  const form = new FormData()
  const bytes = new Uint8Array(Buffer.from('--b\r\n'.repeat(100)))
  form.set('file', new File([bytes], 'a"\r\nx: y.txt'))
  form.set('threadId', 't')
  const read = await readUploadForm(post(form), maxBytes)
  expect(read.get('threadId')).toBe('t')
  expect(new Uint8Array(await (read.get('file') as File).arrayBuffer())).toEqual(bytes)
})

it.each([
  [70, true],
  [71, false],
])('readForm() accepts a boundary of at most 70 characters (RFC 2046 §5.1.1): %i', async (length, isTaken) => {
  const boundary = 'b'.repeat(length)
  const body = `--${boundary}\r\ncontent-disposition: form-data; name="threadId"\r\n\r\nt\r\n--${boundary}--\r\n`
  const reading = readUploadForm(post(body, `multipart/form-data; boundary=${boundary}`), maxBytes)
  if (isTaken) expect((await reading).get('threadId')).toBe('t')
  else await expect(reading).rejects.toMatchObject(malformed)
})

it.each(['name="f"', 'name="f"; filename="a"'])(
  'readForm() refuses many fields before it parses them: %s',
  async head => {
    await expect(
      readUploadForm(postFields(50_000, `content-disposition: form-data; ${head}`), maxBytes),
    ).rejects.toMatchObject({
      code: 'too_large',
      message: 'Cannot store attachment: the form has more than 16 fields',
    })
  },
)

it.each([
  ['a name without end', postFields(1, `content-disposition: form-data; name="${'n'.repeat(9_000)}"`)],
  ['header lines without end', postFields(1, 'x: y\r\n'.repeat(2_000))],
  ['another type', post('a=b', 'application/x-www-form-urlencoded')],
  ['another type with a boundary', post('a=b', 'application/x-www-form-urlencoded; boundary=b')],
  ['no boundary', post('x', 'multipart/form-data')],
  ['a boundary that is too long', post('x', `multipart/form-data; boundary=${'b'.repeat(71)}`)],
  ['no form at all', post('x', 'multipart/form-data; boundary=b')],
])('readForm() refuses %s', async (_, request) => {
  await expect(readUploadForm(request, maxBytes)).rejects.toMatchObject(malformed)
})
