/** Answers with empty text or white space, as the message requests. */
export async function handle({ parts }: { readonly parts: readonly { readonly content?: string }[] }) {
  const query = parts.map(({ content = '' }) => content).join(' ')
  if (query.includes('pieces')) return streamBlanks()
  return query.includes('empty') ? '' : ' \n\t '
}

async function* streamBlanks() {
  yield ' '
  yield '\n\t'
}
