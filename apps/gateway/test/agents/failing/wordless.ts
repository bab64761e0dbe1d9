/** Answers with the requested kind of content, which shows nothing to a reader. */
export async function handle({ parts }: { readonly parts: readonly { readonly content?: string }[] }) {
  const query = parts.map(({ content = '' }) => content).join(' ')
  if (query.includes('pieces')) return streamBlanks()
  return query.includes('empty') ? '' : ' \n\t '
}

async function* streamBlanks() {
  yield ' '
  yield '\n\t'
}
