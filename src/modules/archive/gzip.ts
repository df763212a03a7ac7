export function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return through(new Blob([text]), new CompressionStream('gzip'));
}

/** The text of `gzip`. @throws TypeError if the bytes are not gzip or not UTF-8 */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
    await through(new Blob([bytes]), new DecompressionStream('gzip')),
  );
}

async function through(data: Blob, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(data.stream().pipeThrough(stream)).arrayBuffer());
}
