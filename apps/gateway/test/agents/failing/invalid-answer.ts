/** Answers with a file whose bytes are not valid base64. */
export function handle() {
  return { parts: [{ kind: 'file', name: 'bill.pdf', bytes_ref: { kind: 'inline', data_base64: '$$$' } }] }
}
